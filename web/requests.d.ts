// The types of requests and answers by path, for `app/src/lib/api.js`.
import type { paths } from 'api';

/** The paths that have an HTTP method. */
export type PathOf<M extends string> = {
  [P in keyof paths]: paths[P] extends Record<M, unknown> ? P : never;
}[keyof paths];

/** A path with its ids or with a query. `of` exists only as a type. */
export type Address<P> = string & { readonly of: P };

type IdOf<P> = P extends `${string}{${infer Id}}${infer Rest}` ? Id | IdOf<Rest> : never;
/** The ids in a path. */
export type Ids<P> = Record<IdOf<P>, string | number>;

type QueryOf<P extends keyof paths> = paths[P] extends { get: { parameters: { query?: infer Q } } } ? Q : {};
/** The names are those of the API. The values are texts of the address bar and of inputs, so their types are not checked. */
export type Query<P extends keyof paths> = {
  [K in keyof QueryOf<P>]?: string | number | boolean | null;
};

type Json<Content> = Content extends { content: { 'application/json': infer J } } ? J : null;
/** What the server answers; null for an empty answer. */
export type Answer<P extends keyof paths, M extends string = 'get'> =
  paths[P] extends Record<M, { responses: infer R }> ? Json<R[keyof R]> : never;
/** Values of forms are texts, so the choices of a text are not checked. */
type Loose<T> = T extends string ? string : T extends object ? { [K in keyof T]: Loose<T[K]> } : T;
/** A text is sent unchanged. */
export type Body<P extends keyof paths, M extends string> =
  paths[P] extends Record<M, { requestBody?: infer B }> ? Loose<Json<B>> | string : undefined;

/** The names of the lists in an answer, and the type of their records. */
export type ListOf<P extends keyof paths> = {
  [N in keyof Answer<P>]: Answer<P>[N] extends unknown[] ? N : never;
}[keyof Answer<P>];
export type ItemOf<P extends keyof paths, N extends ListOf<P>> = Answer<P>[N] extends (infer T)[] ? T : never;
