// Written by `npm run types` from the OpenAPI document. Do not edit.

export interface paths {
    "/agent/link": {
        parameters: {
        };
        get: {
            parameters: {
            };
            responses: {
                101: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
    };
    "/api/audit": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    actor?: string;
                    action?: string;
                    target_type?: string;
                    target_id?: string;
                    since?: string;
                    until?: string;
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Audit"];
                    };
                };
            };
        };
    };
    "/api/auth/identities": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    user?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["LinkedIdentities"];
                    };
                };
            };
        };
    };
    "/api/auth/identities/{id}": {
        parameters: {
        };
        delete: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
    };
    "/api/auth/identities/{id}/remove": {
        parameters: {
        };
        post: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["IdentityProof"];
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
    };
    "/api/auth/login": {
        parameters: {
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["Login"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["LoginResult"];
                    };
                };
            };
        };
    };
    "/api/auth/logout": {
        parameters: {
        };
        post: {
            parameters: {
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
    };
    "/api/auth/me": {
        parameters: {
        };
        get: {
            parameters: {
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Me"];
                    };
                };
            };
        };
    };
    "/api/auth/oidc": {
        parameters: {
        };
        get: {
            parameters: {
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SignInOptions"];
                    };
                };
            };
        };
    };
    "/api/auth/oidc/{name}/link": {
        parameters: {
        };
        post: {
            parameters: {
                path: {
                    name: string;
                };
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["IdentityProof"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["LinkStarted"];
                    };
                };
            };
        };
    };
    "/api/auth/passkeys": {
        parameters: {
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewPasskey"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["CreatedPasskey"];
                    };
                };
            };
        };
    };
    "/api/auth/passkeys/begin": {
        parameters: {
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["PasswordProof"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PasskeyCreation"];
                    };
                };
            };
        };
    };
    "/api/auth/passkeys/challenge": {
        parameters: {
        };
        post: {
            parameters: {
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["PasskeyChallenge"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PasskeyRequest"];
                    };
                };
            };
        };
    };
    "/api/auth/passkeys/login": {
        parameters: {
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["PasskeyLogin"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["User"];
                    };
                };
            };
        };
    };
    "/api/auth/passkeys/{id}": {
        parameters: {
        };
        patch: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["PasskeyPatch"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Passkey"];
                    };
                };
            };
        };
    };
    "/api/auth/passkeys/{id}/remove": {
        parameters: {
        };
        post: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["PasswordProof"];
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
    };
    "/api/auth/password": {
        parameters: {
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["ChangePassword"];
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
    };
    "/api/auth/recovery-codes": {
        parameters: {
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["PasswordProof"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RecoveryCodes"];
                    };
                };
            };
        };
    };
    "/api/auth/second-factor": {
        parameters: {
        };
        get: {
            parameters: {
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SecondFactors"];
                    };
                };
            };
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["SecondFactorLogin"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["User"];
                    };
                };
            };
        };
    };
    "/api/auth/sessions": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    user?: string;
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Sessions"];
                    };
                };
            };
        };
        delete: {
            parameters: {
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
    };
    "/api/auth/sessions/{id}": {
        parameters: {
        };
        delete: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
    };
    "/api/auth/setup": {
        parameters: {
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["Setup"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["User"];
                    };
                };
            };
        };
    };
    "/api/auth/sign-in": {
        parameters: {
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["SignIn"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["User"];
                    };
                };
            };
        };
    };
    "/api/auth/state": {
        parameters: {
        };
        get: {
            parameters: {
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AuthState"];
                    };
                };
            };
        };
    };
    "/api/auth/totp": {
        parameters: {
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["PasswordProof"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TotpEnrolment"];
                    };
                };
            };
        };
    };
    "/api/auth/totp/confirm": {
        parameters: {
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["TotpCode"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RecoveryCodes"];
                    };
                };
            };
        };
    };
    "/api/auth/totp/remove": {
        parameters: {
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["PasswordProof"];
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
    };
    "/api/calls": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    method?: string;
                    caller?: string;
                    owner?: string;
                    space_id?: string;
                    outcome?: components["schemas"]["CallEnd"];
                    code?: number;
                    via?: components["schemas"]["CallVia"];
                    since?: string;
                    until?: string;
                    min_duration_ms?: number;
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Calls"];
                    };
                };
            };
        };
    };
    "/api/calls/stream": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    method?: string;
                    caller?: string;
                    owner?: string;
                    space_id?: string;
                    outcome?: components["schemas"]["CallEnd"];
                    code?: number;
                    via?: components["schemas"]["CallVia"];
                    since?: string;
                    until?: string;
                    min_duration_ms?: number;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": string;
                    };
                };
            };
        };
    };
    "/api/calls/summary": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    method?: string;
                    caller?: string;
                    owner?: string;
                    space_id?: string;
                    outcome?: components["schemas"]["CallEnd"];
                    code?: number;
                    via?: components["schemas"]["CallVia"];
                    since?: string;
                    until?: string;
                    min_duration_ms?: number;
                    by?: components["schemas"]["CallGrouping"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["CallSummary"];
                    };
                };
            };
        };
    };
    "/api/calls/{id}": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["CallDetail"];
                    };
                };
            };
        };
    };
    "/api/diagnostics": {
        parameters: {
        };
        get: {
            parameters: {
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Diagnostics"];
                    };
                };
            };
        };
    };
    "/api/event-sinks": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Sinks"];
                    };
                };
            };
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewSink"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Sink"];
                    };
                };
            };
        };
    };
    "/api/event-sinks/preview": {
        parameters: {
        };
        post: {
            parameters: {
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["Preview"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PreviewResult"];
                    };
                };
            };
        };
    };
    "/api/event-sinks/{id}": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Sink"];
                    };
                };
            };
        };
        delete: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
        patch: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["SinkPatch"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Sink"];
                    };
                };
            };
        };
    };
    "/api/event-sinks/{id}/backtest": {
        parameters: {
        };
        post: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["Backtest"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["BacktestResult"];
                    };
                };
            };
        };
    };
    "/api/event-sinks/{id}/deliveries": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    state?: components["schemas"]["DeliveryState"];
                    limit?: number;
                    cursor?: string;
                    exchanges?: boolean;
                    tried?: boolean;
                };
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Deliveries"];
                    };
                };
            };
        };
    };
    "/api/event-sinks/{id}/deliveries/{n}/resend": {
        parameters: {
        };
        post: {
            parameters: {
                path: {
                    id: string;
                    n: number;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Delivery"];
                    };
                };
            };
        };
    };
    "/api/event-sinks/{id}/replay": {
        parameters: {
        };
        post: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["Replay"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ReplayResult"];
                    };
                };
            };
        };
    };
    "/api/event-sinks/{id}/resend": {
        parameters: {
        };
        post: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["Resend"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ResendResult"];
                    };
                };
            };
        };
    };
    "/api/event-sinks/{id}/rotate-secret": {
        parameters: {
        };
        post: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["RotateSecret"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SecretRotation"];
                    };
                };
            };
        };
    };
    "/api/event-sinks/{id}/stats": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    range?: components["schemas"]["StatsRange"];
                };
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SinkStats"];
                    };
                };
            };
        };
    };
    "/api/event-sinks/{id}/test": {
        parameters: {
        };
        post: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["Preview"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PreviewResult"];
                    };
                };
            };
        };
    };
    "/api/events": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    type?: string;
                    space_id?: string;
                    since?: string;
                    until?: string;
                    actor?: string;
                    text?: string;
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Events"];
                    };
                };
            };
        };
    };
    "/api/events/emit": {
        parameters: {
        };
        post: {
            parameters: {
                header?: {
                    "Idempotency-Key"?: string;
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["Emit"];
                };
            };
            responses: {
                202: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["EmittedEvent"];
                    };
                };
            };
        };
    };
    "/api/events/histogram": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    type?: string;
                    space_id?: string;
                    since?: string;
                    until?: string;
                    actor?: string;
                    text?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["EventHistogram"];
                    };
                };
            };
        };
    };
    "/api/events/stream": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    pattern?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": string;
                    };
                };
            };
        };
    };
    "/api/events/{id}": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["EventRecord"];
                    };
                };
            };
        };
    };
    "/api/events/{id}/deliveries": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["EventDeliveries"];
                    };
                };
            };
        };
    };
    "/api/groups": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Groups"];
                    };
                };
            };
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["GroupBody"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Group"];
                    };
                };
            };
        };
    };
    "/api/groups/{id}": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Group"];
                    };
                };
            };
        };
        delete: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
        patch: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["GroupPatch"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Group"];
                    };
                };
            };
        };
    };
    "/api/groups/{id}/methods": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["GroupMethods"];
                    };
                };
            };
        };
    };
    "/api/methods": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    name?: string;
                    q?: string;
                    owner?: string;
                    scope?: components["schemas"]["MethodScope"];
                    space?: string;
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Methods"];
                    };
                };
            };
        };
    };
    "/api/methods/call": {
        parameters: {
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CallBody"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["CallResult"];
                    };
                };
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
    };
    "/api/methods/{name}/stats": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    range?: components["schemas"]["StatsRange"];
                };
                path: {
                    name: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["MethodStats"];
                    };
                };
            };
        };
    };
    "/api/oauth/clients": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Apps"];
                    };
                };
            };
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewApp"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["App"];
                    };
                };
            };
        };
    };
    "/api/oauth/clients/{id}": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["App"];
                    };
                };
            };
        };
        delete: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
        patch: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["AppPatch"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["App"];
                    };
                };
            };
        };
    };
    "/api/oauth/devices/{user_code}": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    user_code: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["DeviceLogin"];
                    };
                };
            };
        };
        post: {
            parameters: {
                path: {
                    user_code: string;
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["Decision"];
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
    };
    "/api/oauth/grants": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    user?: string;
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Grants"];
                    };
                };
            };
        };
    };
    "/api/oauth/grants/{id}": {
        parameters: {
        };
        delete: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
    };
    "/api/oauth/requests/{id}": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Consent"];
                    };
                };
            };
        };
        post: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["Decision"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["DecisionResult"];
                    };
                };
            };
        };
    };
    "/api/oidc/providers": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OidcProviders"];
                    };
                };
            };
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewOidcProvider"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OidcProvider"];
                    };
                };
            };
        };
    };
    "/api/oidc/providers/{id}": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OidcProvider"];
                    };
                };
            };
        };
        delete: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
        patch: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["OidcProviderPatch"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OidcProvider"];
                    };
                };
            };
        };
    };
    "/api/oidc/providers/{id}/check": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OidcCheck"];
                    };
                };
            };
        };
    };
    "/api/openapi.json": {
        parameters: {
        };
        get: {
            parameters: {
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            [key: string]: unknown;
                        };
                    };
                };
            };
        };
    };
    "/api/openrpc.json": {
        parameters: {
        };
        get: {
            parameters: {
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            [key: string]: unknown;
                        };
                    };
                };
            };
        };
    };
    "/api/permissions": {
        parameters: {
        };
        get: {
            parameters: {
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PermissionList"];
                    };
                };
            };
        };
    };
    "/api/roles": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Roles"];
                    };
                };
            };
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewRole"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Role"];
                    };
                };
            };
        };
    };
    "/api/roles/{id}": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Role"];
                    };
                };
            };
        };
        delete: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
        patch: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["RolePatch"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Role"];
                    };
                };
            };
        };
    };
    "/api/schedules": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Schedules"];
                    };
                };
            };
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewSchedule"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Schedule"];
                    };
                };
            };
        };
    };
    "/api/schedules/preview": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    cron?: string;
                    timezone?: string;
                    count?: number;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["NextRuns"];
                    };
                };
            };
        };
    };
    "/api/schedules/{id}": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Schedule"];
                    };
                };
            };
        };
        delete: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
        patch: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["SchedulePatch"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Schedule"];
                    };
                };
            };
        };
    };
    "/api/schedules/{id}/next": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    count?: number;
                };
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["NextRuns"];
                    };
                };
            };
        };
    };
    "/api/schedules/{id}/run": {
        parameters: {
        };
        post: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                202: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["EmittedEvent"];
                    };
                };
            };
        };
    };
    "/api/scripts": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    kind?: components["schemas"]["ScriptKind"];
                    owner?: components["schemas"]["ScriptOwner"];
                    name?: string;
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Scripts"];
                    };
                };
            };
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewScript"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Script"];
                    };
                };
            };
        };
    };
    "/api/scripts/check": {
        parameters: {
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["CheckScript"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ScriptCheck"];
                    };
                };
            };
        };
    };
    "/api/scripts/run": {
        parameters: {
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["RunNewScript"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ScriptRunResult"];
                    };
                };
            };
        };
    };
    "/api/scripts/{id}": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Script"];
                    };
                };
            };
        };
        delete: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
        patch: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["ScriptPatch"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Script"];
                    };
                };
            };
        };
    };
    "/api/scripts/{id}/run": {
        parameters: {
        };
        post: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["RunScript"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ScriptRunResult"];
                    };
                };
            };
        };
    };
    "/api/servers": {
        parameters: {
        };
        get: {
            parameters: {
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Servers"];
                    };
                };
            };
        };
    };
    "/api/sources": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Sources"];
                    };
                };
            };
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewSource"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Source"];
                    };
                };
            };
        };
    };
    "/api/sources/{id}": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Source"];
                    };
                };
            };
        };
        delete: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
        patch: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["SourcePatch"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Source"];
                    };
                };
            };
        };
    };
    "/api/sources/{id}/requests": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SourceRequests"];
                    };
                };
            };
        };
    };
    "/api/sources/{id}/rotate": {
        parameters: {
        };
        post: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["RotateSource"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SourceRotation"];
                    };
                };
            };
        };
    };
    "/api/sources/{id}/test": {
        parameters: {
        };
        post: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["SourceTest"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SourceTestResult"];
                    };
                };
            };
        };
    };
    "/api/spaces": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Spaces"];
                    };
                };
            };
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewSpace"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Space"];
                    };
                };
            };
        };
    };
    "/api/spaces/{id}": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Space"];
                    };
                };
            };
        };
        delete: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
        patch: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["SpacePatch"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Space"];
                    };
                };
            };
        };
    };
    "/api/spaces/{id}/agent-token": {
        parameters: {
        };
        post: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AgentToken"];
                    };
                };
            };
        };
    };
    "/api/spaces/{id}/logs": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    limit?: number;
                    cursor?: number;
                    source?: components["schemas"]["LogSource"];
                    level?: components["schemas"]["LogLevel"];
                    search?: string;
                };
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Logs"];
                    };
                };
            };
        };
    };
    "/api/spaces/{id}/start": {
        parameters: {
        };
        post: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Space"];
                    };
                };
            };
        };
    };
    "/api/spaces/{id}/stop": {
        parameters: {
        };
        post: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Space"];
                    };
                };
            };
        };
    };
    "/api/stats": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    scope?: components["schemas"]["StatsScope"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Stats"];
                    };
                };
            };
        };
    };
    "/api/stats/activity": {
        parameters: {
        };
        get: {
            parameters: {
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Activity"];
                    };
                };
            };
        };
    };
    "/api/stats/calls": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    scope?: components["schemas"]["StatsScope"];
                    range?: components["schemas"]["StatsRange"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["CallTotals"];
                    };
                };
            };
        };
    };
    "/api/stats/quotas": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    user?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["QuotaUses"];
                    };
                };
            };
        };
    };
    "/api/templates": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Templates"];
                    };
                };
            };
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewTemplate"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Template"];
                    };
                };
            };
        };
    };
    "/api/templates/{id}": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Template"];
                    };
                };
            };
        };
        delete: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
        patch: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["TemplatePatch"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Template"];
                    };
                };
            };
        };
    };
    "/api/tokens": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    user?: string;
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Tokens"];
                    };
                };
            };
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewToken"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Token"];
                    };
                };
            };
        };
    };
    "/api/tokens/{id}": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Token"];
                    };
                };
            };
        };
        delete: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
    };
    "/api/users": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    limit?: number;
                    cursor?: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Users"];
                    };
                };
            };
        };
        post: {
            parameters: {
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewUser"];
                };
            };
            responses: {
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["User"];
                    };
                };
            };
        };
    };
    "/api/users/{id}": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["User"];
                    };
                };
            };
        };
        delete: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
        patch: {
            parameters: {
                path: {
                    id: string;
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["UserPatch"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["User"];
                    };
                };
            };
        };
    };
    "/api/users/{id}/access": {
        parameters: {
        };
        get: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["UserAccess"];
                    };
                };
            };
        };
    };
    "/api/users/{id}/second-factor": {
        parameters: {
        };
        delete: {
            parameters: {
                path: {
                    id: string;
                };
            };
            responses: {
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
            };
        };
    };
    "/healthz": {
        parameters: {
        };
        get: {
            parameters: {
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Health"];
                    };
                };
            };
        };
    };
    "/mcp": {
        parameters: {
        };
        get: {
            parameters: {
                query?: {
                    tools?: "all" | "search";
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": string;
                    };
                };
            };
        };
        post: {
            parameters: {
                query?: {
                    tools?: "all" | "search";
                };
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["McpBody"];
                };
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpResult"];
                        "text/event-stream": string;
                    };
                };
                202: {
                    headers: {
                        [name: string]: unknown;
                    };
                };
                404: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["McpResult"];
                    };
                };
            };
        };
    };
    "/metrics": {
        parameters: {
        };
        get: {
            parameters: {
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/openmetrics-text": string;
                    };
                };
            };
        };
    };
    "/readyz": {
        parameters: {
        };
        get: {
            parameters: {
            };
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Readiness"];
                    };
                };
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Readiness"];
                    };
                };
            };
        };
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AccessibleMethod: {
            /** @description The user's groups that the method is shared with. */
            groups: string[];
            /** @description The name under which this user calls the method. */
            name: string;
            owner: components["schemas"]["UserName"];
            through: components["schemas"]["SharedThrough"];
        };
        /**
         * @description `GET /api/stats/activity`: the last 24 hours of the caller's methods and sinks, for lists. Methods
         *     without calls and sinks without attempts are left out.
         */
        Activity: {
            /** @description The caller's own methods that are registered, those with the most calls first. At most 1,000. */
            methods: components["schemas"]["MethodActivity"][];
            /**
             * Format: date-time
             * @description The start of the first hour. The last hour is not complete.
             */
            since: string;
            /** @description Sinks that the caller manages, those with the most attempts first. At most 1,000. */
            sinks: components["schemas"]["SinkActivity"][];
            /**
             * Format: uint64
             * @description The length of the period that each number in `methods` and `sinks` covers, in seconds.
             */
            step_seconds: number;
        };
        /** @description The cause of an event: a user, an agent or the server itself. */
        Actor: {
            /** Format: uuid */
            id: string | null;
            kind: components["schemas"]["ActorKind"];
            username: string;
        };
        /** @enum {string} */
        ActorKind: "user" | "agent" | "system";
        AgentToken: {
            agent_token: string;
        };
        /**
         * @description Hints of the publisher about the effects of a tool. Without a hint, nothing is known about that
         *     effect.
         */
        Annotations: {
            /** @description The tool may delete or overwrite something. */
            destructive?: boolean | null;
            /** @description A second call with the same arguments changes nothing more. */
            idempotent?: boolean | null;
            /** @description The tool reaches systems beyond its own, such as the web. */
            open_world?: boolean | null;
            /** @description The tool changes nothing. */
            read_only?: boolean | null;
        };
        /**
         * @description A merge patch of annotations: `null` makes a hint unknown. A hint that is not in the patch keeps
         *     its value.
         */
        AnnotationsPatch: {
            destructive?: boolean | null;
            idempotent?: boolean | null;
            open_world?: boolean | null;
            read_only?: boolean | null;
        };
        /** @description An app, for administrators. */
        App: {
            /** @description A blocked app cannot be connected and has no grants. */
            blocked: boolean;
            /** @description The id that the app presents. For apps of the kind `metadata` it is an address. */
            client_id: string;
            /** @description Whether the app must present a secret. */
            confidential: boolean;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: uint64
             * @description Number of grants.
             */
            grants: number;
            /** @description The host that is responsible for the app, if its kind is `metadata`. */
            host: string | null;
            /** Format: uuid */
            id: string;
            kind: components["schemas"]["ClientKind"];
            /** Format: date-time */
            last_used_at: string | null;
            /** @description The name that the app gives itself. Do not trust it. */
            name: string;
            /** @description Addresses to which the browser may return. */
            redirect_uris: string[];
            /** @description The secret of a confidential app. Present only in the answer to its creation. */
            secret?: string | null;
        };
        /**
         * @example {
         *       "blocked": true
         *     }
         */
        AppPatch: {
            /** @description Blocking an app disconnects it from every user. */
            blocked?: boolean;
        };
        /** @description An app as users see it. */
        AppSummary: {
            /** @description The id that the app presents. For apps of the kind `metadata` it is an address. */
            client_id: string;
            /** @description The host that is responsible for the app, if its kind is `metadata`. */
            host: string | null;
            /** Format: uuid */
            id: string;
            kind: components["schemas"]["ClientKind"];
            /** @description The name that the app gives itself. Do not trust it. */
            name: string;
        };
        Apps: {
            apps: components["schemas"]["App"][];
            next_cursor: string | null;
        };
        Attempt: {
            /** Format: date-time */
            at: string;
            error: string | null;
            /**
             * @description The request and the head of the response, of a webhook with `keep_exchanges`. Listed only on
             *     request (`?exchanges=true`).
             */
            exchange?: components["schemas"]["Exchange"] | null;
            /** Format: uint64 */
            ms: number;
            /**
             * @description The beginning of the receiver's response, or of a script's output. At most 1 KiB of a
             *     successful attempt.
             */
            output: string | null;
            /**
             * @description Whether the output, the exchange, most of the error and earlier attempts were not kept,
             *     because the owner's quota `event_bytes` is used up.
             */
            output_omitted?: boolean;
            /**
             * Format: uint16
             * @description HTTP status, if there was a response.
             */
            status: number | null;
        };
        Audit: {
            audit: components["schemas"]["AuditEntry"][];
            next_cursor: string | null;
        };
        AuditEntry: {
            /** @description Such as `token.created`. */
            action: string;
            /** @description A user's name, or `system`. */
            actor: string;
            /** Format: date-time */
            at: string;
            /**
             * Format: uint64
             * @description The number of entries that were merged into this one, if more than one. `at` and
             *     `detail` are those of the newest.
             */
            count?: number;
            /** @description Depends on the action. At most 2 KiB: larger members are cut, and `cut` is then true. */
            detail: unknown;
            /** Format: uuid */
            id: string;
            target_id: string;
            target_type: string;
        };
        /** @description `GET /api/auth/state`: the first request of the web interface. Needs no credential. */
        AuthState: {
            /**
             * @description Whether the caller may create spaces that this server runs itself (runtime `local`).
             * @default false
             */
            local_spaces: boolean;
            /** @description `None` without a valid credential. */
            me: components["schemas"]["Me"] | null;
            /** @description True if there is no user yet. The server's log has the one-time setup link. */
            setup_needed: boolean;
            /** @description The server's version. */
            version: string;
        };
        /**
         * @description `POST /api/event-sinks/{id}/backtest`: applies the sink, and a changed version of the sink, to
         *     past events and compares the results. Nothing is sent. If `patterns`, `filter` or
         *     `body_template` is absent, the changed version has the value of the sink.
         * @example {
         *       "filter": "event.data.ok == false",
         *       "since": "2026-11-15T00:00:00Z"
         *     }
         */
        Backtest: {
            /** @description An empty text means the default body. */
            body_template?: string | null;
            /** @description An empty text means no filter. */
            filter?: string | null;
            patterns?: components["schemas"]["PatternsInput"] | null;
            /** @description Always rejected: a script may have side effects, so a backtest cannot run it. */
            script?: components["schemas"]["ScriptConfigInput"] | null;
            /**
             * Format: date-time
             * @description 7 days ago if absent.
             */
            since?: string | null;
            /**
             * Format: date-time
             * @description Now if absent.
             */
            until?: string | null;
        };
        BacktestCounts: {
            /**
             * Format: uint32
             * @description Events for which the filter or the template fails.
             */
            failures: number;
            /**
             * Format: uint32
             * @description Events that would be delivered.
             */
            matching: number;
        };
        /**
         * @description The results before and after the change: the body, `not matched`, or the error. Long bodies are
         *     cut.
         */
        BacktestDifference: {
            after: string;
            before: string;
            /** Format: uuid */
            event_id: string;
            event_type: string;
        };
        BacktestError: {
            error: string;
            /** Format: uuid */
            event_id: string;
            event_type: string;
        };
        BacktestResult: {
            /**
             * Format: uint32
             * @description Events that would be delivered only after the change.
             */
            added: number;
            after: components["schemas"]["BacktestCounts"];
            before: components["schemas"]["BacktestCounts"];
            /**
             * Format: uint32
             * @description All other events whose result differs, such as events with another body.
             */
            changed: number;
            /**
             * @description False if there are more events, or if the backtest took too long. To continue, send another
             *     request with the value of `through` as `since`.
             */
            complete: boolean;
            /** @description The first events whose outcome differs. */
            differences: components["schemas"]["BacktestDifference"][];
            /** @description The first events for which the changed filter or template fails. */
            errors: components["schemas"]["BacktestError"][];
            /**
             * Format: uint32
             * @description Past events that the old or the new patterns match.
             */
            events: number;
            /**
             * Format: uint32
             * @description Events that would be delivered only before the change.
             */
            removed: number;
            /**
             * Format: date-time
             * @description The time of the last event that was compared. Null if no event was compared.
             */
            through: string | null;
        };
        /** @description A call in the journal. */
        Call: {
            /**
             * Format: date-time
             * @description When the call ended.
             */
            at: string;
            /** @description Null if the user was deleted. */
            caller: components["schemas"]["UserName"] | null;
            /** Format: uuid */
            caller_id: string;
            /**
             * Format: int32
             * @description The error code of JSON-RPC; null without an error.
             */
            code: number | null;
            /** @description Only the caller and users with `view_audit` see it. Null for a call that delivers an event. */
            credential: components["schemas"]["CallCredential"] | null;
            /**
             * Format: double
             * @description From the arrival of the request to the answer.
             */
            duration_ms: number;
            /** Format: uuid */
            id: string;
            /** @description The name without `user.<owner>.`; for a method that was not found, the name that was called. */
            method: string;
            /**
             * Format: double
             * @description The part of `duration_ms` in which the method server worked. The rest of `duration_ms` was
             *     spent in the server and on the way to the space and back.
             */
            method_ms: number | null;
            outcome: components["schemas"]["CallEnd"];
            owner: components["schemas"]["UserName"] | null;
            /**
             * Format: uuid
             * @description The owner of the method; for a method that was not found, the caller.
             */
            owner_id: string;
            /** Format: uint32 */
            params_bytes: number;
            /**
             * Format: double
             * @description The part of `duration_ms` in which the call waited in the space. Null if no method server
             *     answered.
             */
            queue_ms: number | null;
            /** Format: uint32 */
            result_bytes: number;
            space: components["schemas"]["SpaceName"] | null;
            /**
             * Format: uuid
             * @description Only the owner and users with `view_audit` see it. Null if no space got the call.
             */
            space_id: string | null;
            /** @description From `traceparent`: in `_meta` of an MCP message, or else the header of the request. */
            trace_id: string | null;
            via: components["schemas"]["CallVia"];
        };
        /**
         * @description `POST /api/methods/call`
         * @example {
         *       "id": 1,
         *       "jsonrpc": "2.0",
         *       "method": "notes.add",
         *       "params": {
         *         "text": "Buy milk"
         *       }
         *     }
         */
        CallBody: components["schemas"]["JsonRpcRequest"] | components["schemas"]["JsonRpcRequest"][];
        /** @description The credential of a call. The journal never has the secret of a credential. */
        CallCredential: {
            /**
             * Format: uuid
             * @description The id of the token or session, of the app's grant, or of the agent's space; null for a script.
             */
            id: string | null;
            kind: components["schemas"]["CallCredentialKind"];
        };
        /** @enum {string} */
        CallCredentialKind: "token" | "session" | "app" | "agent" | "script";
        /**
         * @description `GET /api/calls/{id}`: a call with its recorded params and answer. Only the caller and the owner of
         *     the method see them, and only if `journal` of the method was `payloads`.
         */
        CallDetail: {
            /**
             * Format: date-time
             * @description When the call ended.
             */
            at: string;
            /** @description Null if the user was deleted. */
            caller: components["schemas"]["UserName"] | null;
            /** Format: uuid */
            caller_id: string;
            /**
             * Format: int32
             * @description The error code of JSON-RPC; null without an error.
             */
            code: number | null;
            /** @description Only the caller and users with `view_audit` see it. Null for a call that delivers an event. */
            credential: components["schemas"]["CallCredential"] | null;
            /**
             * Format: double
             * @description From the arrival of the request to the answer.
             */
            duration_ms: number;
            /** @description The error of the method. Absent if it is not recorded, and for a call without such an error. */
            error?: unknown;
            /** Format: uuid */
            id: string;
            /** @description The name without `user.<owner>.`; for a method that was not found, the name that was called. */
            method: string;
            /**
             * Format: double
             * @description The part of `duration_ms` in which the method server worked. The rest of `duration_ms` was
             *     spent in the server and on the way to the space and back.
             */
            method_ms: number | null;
            outcome: components["schemas"]["CallEnd"];
            owner: components["schemas"]["UserName"] | null;
            /**
             * Format: uuid
             * @description The owner of the method; for a method that was not found, the caller.
             */
            owner_id: string;
            /** @description Absent if they are not recorded. `journal_redact` of the method replaces values by `[redacted]`. */
            params?: unknown;
            /** Format: uint32 */
            params_bytes: number;
            /** @description Why the params are missing. */
            params_omitted?: components["schemas"]["PayloadOmission"] | null;
            /**
             * Format: double
             * @description The part of `duration_ms` in which the call waited in the space. Null if no method server
             *     answered.
             */
            queue_ms: number | null;
            /** @description Absent if it is not recorded, and for a call without a result. */
            result?: unknown;
            /** Format: uint32 */
            result_bytes: number;
            /** @description Why the result or the error is missing. */
            result_omitted?: components["schemas"]["PayloadOmission"] | null;
            space: components["schemas"]["SpaceName"] | null;
            /**
             * Format: uuid
             * @description Only the owner and users with `view_audit` see it. Null if no space got the call.
             */
            space_id: string | null;
            /** @description From `traceparent`: in `_meta` of an MCP message, or else the header of the request. */
            trace_id: string | null;
            via: components["schemas"]["CallVia"];
        };
        /** @enum {string} */
        CallEnd: "ok" | "error" | "not_found" | "unavailable" | "timeout" | "interrupted" | "notification" | "notification_dropped" | "cancelled";
        /** @description The calls of one caller or of one credential. */
        CallGroup: {
            /** @description Null if the user was deleted. */
            caller: components["schemas"]["UserName"] | null;
            /** Format: uuid */
            caller_id: string;
            /** Format: uint64 */
            calls: number;
            /**
             * @description Only the caller and users with `view_audit` see it. Null with `by=caller`, and for calls that
             *     deliver events.
             */
            credential: components["schemas"]["CallCredential"] | null;
            /**
             * Format: uint64
             * @description Calls with another outcome than `ok`, `notification` and `cancelled`.
             */
            failed: number;
            /**
             * Format: date-time
             * @description The end of the newest call.
             */
            last_at: string;
        };
        /** @enum {string} */
        CallGrouping: "caller" | "credential";
        /** @description Answered calls of one minute. Notifications have no answer and are not counted. */
        CallMinute: {
            /** Format: uint64 */
            calls: number;
            /**
             * Format: uint64
             * @description Calls that were answered with an error, including errors of the method itself.
             */
            errors: number;
            /** Format: date-time */
            minute: string;
            /**
             * Format: double
             * @description `None` without calls.
             */
            p50_ms: number | null;
            /** Format: double */
            p95_ms: number | null;
        };
        /** @description One response, or the responses of a batch in the order of the requests. */
        CallResult: components["schemas"]["JsonRpcResponse"] | components["schemas"]["JsonRpcResponse"][];
        /** @description `GET /api/calls/summary`: the number of calls of each caller or of each credential. */
        CallSummary: {
            /**
             * Format: date-time
             * @description If `is_complete` is false: all calls since this time are counted, and no older calls. Null if
             *     calls of any time may be missing, because too many owners have calls of the same time.
             */
            counted_since: string | null;
            /** @description Most calls first, at most 200. */
            groups: components["schemas"]["CallGroup"][];
            /** @description Whether all matching calls are counted. One request reads a limited part of the journal. */
            is_complete: boolean;
            /** @description The sum of all groups that are not in `groups`; null if there are none. */
            other: components["schemas"]["OtherCallGroups"] | null;
        };
        /** @description `GET /api/stats/calls`: the calls that the caller made or, with `?scope=server`, all calls. */
        CallTotals: {
            /** @description Oldest first. The last point is not complete. */
            points: components["schemas"]["MethodStatsPoint"][];
            range: components["schemas"]["StatsRange"];
            /**
             * @description `caller` or `server`.
             * @enum {string}
             */
            scope: "caller" | "server";
            /**
             * Format: uint64
             * @description Seconds from the start of a point to the start of the next point.
             */
            step_seconds: number;
            /** @description All calls of the range. */
            total: components["schemas"]["MethodStatsPoint"];
        };
        /** @enum {string} */
        CallVia: "api" | "batch" | "mcp" | "event" | "script";
        /** @description `GET /api/calls` */
        Calls: {
            /** @description Newest first. */
            calls: components["schemas"]["Call"][];
            /**
             * Format: uint64
             * @description Number of calls that this server did not record since its start, because they came too fast
             *     or could not be written. With `view_audit` all such calls count, otherwise those of your methods.
             */
            dropped: number;
            /**
             * @description Whether this page lacks calls, because too many owners have calls of the same time. If so,
             *     add a filter.
             * @default false
             */
            incomplete: boolean;
            /** @description A page may have fewer calls than `limit`, or none, and still have a next page. */
            next_cursor: string | null;
        };
        /**
         * @example {
         *       "current_password": "correct horse battery",
         *       "new_password": "a better horse battery"
         *     }
         */
        ChangePassword: {
            current_password: string;
            new_password: string;
        };
        /** @description The result of one check. */
        Check: {
            /** @description How to solve the problem. Absent if there is no problem. */
            advice?: string | null;
            /** @description What the check found. */
            detail: string;
            /** @description Such as `database` or `disk`. */
            name: string;
            status: components["schemas"]["CheckStatus"];
        };
        /**
         * @description `POST /api/scripts/check`: compiles a source without storing or running it.
         * @example {
         *       "source": "def main(params):\n    return 1\n"
         *     }
         */
        CheckScript: {
            source: string;
        };
        CheckStatus: ("ok" | "error") | "skipped" | "warning";
        /** @description A value of the groups claim, and the group or the role that users with this value get. */
        ClaimMapping: {
            group?: string | null;
            role?: string | null;
            value: string;
        };
        /** @enum {string} */
        ClientKind: "builtin" | "metadata" | "registered" | "manual";
        /** @description The request of an app to a user: `GET /api/oauth/requests/{id}`. */
        Consent: {
            app: components["schemas"]["AppSummary"];
            /** Format: date-time */
            expires_at: string;
            /** Format: uuid */
            id: string;
            /** @description A permission that the user needs and does not have. */
            missing_permission: string | null;
            /** @description The host to which the browser returns. */
            redirect_host: string;
            /**
             * @description Whether the browser returns to a program on its own machine. Any program on that machine may
             *     receive the answer.
             */
            redirect_is_local: boolean;
            scopes: components["schemas"]["OAuthScopes"];
        };
        /** @description Answer to [`NewPasskey`]. */
        CreatedPasskey: {
            passkey: components["schemas"]["Passkey"];
            /**
             * @description New recovery codes, if the caller had none. Each code is valid once. Only this answer
             *     contains them.
             */
            recovery_codes: string[];
        };
        /**
         * @description The user's answer to an app or a device.
         * @example {
         *       "approve": true
         *     }
         */
        Decision: {
            approve: boolean;
        };
        /** @description Where the browser goes after the answer to an app. */
        DecisionResult: {
            redirect_to: string;
        };
        /** @enum {string} */
        Deduplicate: "body" | "none";
        /** @description `GET /api/event-sinks/{id}/deliveries`, newest first; filter `?state=`. */
        Deliveries: {
            deliveries: components["schemas"]["Delivery"][];
            next_cursor: string | null;
        };
        /** @description The delivery of one event to one sink. `n` is the delivery's number, counted per sink. */
        Delivery: {
            attempts: components["schemas"]["Attempt"][];
            /** Format: uuid */
            event_id: string;
            event_type: string;
            /** Format: uint64 */
            n: number;
            /**
             * Format: date-time
             * @description When the delivery is tried again. Present only while it waits after a failed attempt.
             */
            next_attempt_at?: string | null;
            /**
             * Format: uint64
             * @description The delivery whose event this delivery sends again.
             */
            resend_of?: number | null;
            /**
             * Format: uint64
             * @description The delivery that sent the event again.
             */
            resent_as?: number | null;
            state: components["schemas"]["DeliveryState"];
        };
        DeliveryPolicy: {
            /**
             * Format: uint32
             * @description Attempts of one delivery, the first included.
             * @default 3
             */
            attempts: number;
            /**
             * Format: uint32
             * @description The sink counts as failing after this many failed attempts in a row.
             * @default 3
             */
            failing_after_failures: number;
            /**
             * Format: uint32
             * @description The sink counts as failing when every attempt has failed for this many minutes.
             */
            failing_after_minutes?: number | null;
            /** @description An expression over the event; only events for which it is true are delivered. */
            filter?: string | null;
            /**
             * Format: uint32
             * @description The maximum number of deliveries in flight with `ordering = "key"`.
             * @default 16
             */
            in_flight: number;
            /**
             * @description Whether attempts are stored with their request and answer.
             * @default false
             */
            keep_exchanges: boolean;
            /**
             * @description An expression over the event. With `ordering = "key"`, events for which it has the same
             *     value are delivered in order.
             */
            key?: string | null;
            /**
             * Format: uint32
             * @description Deliveries of a webhook that a crash of the server may repeat. The next delivery starts if
             *     fewer than this many results still have to be written to disk. With 1, each delivery waits
             *     until the result of the previous one is on disk.
             * @default 8
             */
            max_repeats: number;
            /**
             * @description Whether changes of the sink's state raise `sink.*` events.
             * @default false
             */
            notify: boolean;
            /**
             * @description What happens after the last attempt of a delivery has failed.
             * @default skip
             */
            on_exhausted: components["schemas"]["OnExhausted"];
            /** @default strict */
            ordering: components["schemas"]["Ordering"];
            /**
             * @description What happens to an event that does not fit into the queue.
             * @default drop
             */
            overflow: components["schemas"]["Overflow"];
            /**
             * Format: uint32
             * @description The sink is paused when every attempt has failed for this many minutes; never if absent.
             */
            pause_after_minutes?: number | null;
            /**
             * @description Statuses after which a delivery is dead at once. If 410 is in the list, it pauses the sink
             *     instead, and the delivery stays in the queue.
             * @default []
             */
            permanent_statuses: number[];
            /**
             * Format: uint32
             * @description Attempts a minute; no limit if absent.
             */
            rate_per_minute?: number | null;
            /** @description The waits between attempts. If absent: 5 seconds after the first attempt, then 15 seconds. */
            retry?: components["schemas"]["Retry"] | null;
            /**
             * @description Whether a `Retry-After` of the receiver lengthens the wait, to at most seven days.
             * @default false
             */
            retry_after: boolean;
        };
        DeliveryPolicyInput: {
            /**
             * Format: uint32
             * @description Attempts of one delivery, the first included.
             * @default 3
             */
            attempts?: number;
            /**
             * Format: uint32
             * @description The sink counts as failing after this many failed attempts in a row.
             * @default 3
             */
            failing_after_failures?: number;
            /**
             * Format: uint32
             * @description The sink counts as failing when every attempt has failed for this many minutes.
             */
            failing_after_minutes?: number | null;
            /** @description An expression over the event; only events for which it is true are delivered. */
            filter?: string | null;
            /**
             * Format: uint32
             * @description The maximum number of deliveries in flight with `ordering = "key"`.
             * @default 16
             */
            in_flight?: number;
            /**
             * @description Whether attempts are stored with their request and answer.
             * @default false
             */
            keep_exchanges?: boolean;
            /**
             * @description An expression over the event. With `ordering = "key"`, events for which it has the same
             *     value are delivered in order.
             */
            key?: string | null;
            /**
             * Format: uint32
             * @description Deliveries of a webhook that a crash of the server may repeat. The next delivery starts if
             *     fewer than this many results still have to be written to disk. With 1, each delivery waits
             *     until the result of the previous one is on disk.
             * @default 8
             */
            max_repeats?: number;
            /**
             * @description Whether changes of the sink's state raise `sink.*` events.
             * @default false
             */
            notify?: boolean;
            /**
             * @description What happens after the last attempt of a delivery has failed.
             * @default skip
             */
            on_exhausted?: components["schemas"]["OnExhausted"];
            /** @default strict */
            ordering?: components["schemas"]["Ordering"];
            /**
             * @description What happens to an event that does not fit into the queue.
             * @default drop
             */
            overflow?: components["schemas"]["Overflow"];
            /**
             * Format: uint32
             * @description The sink is paused when every attempt has failed for this many minutes; never if absent.
             */
            pause_after_minutes?: number | null;
            /**
             * @description Statuses after which a delivery is dead at once. If 410 is in the list, it pauses the sink
             *     instead, and the delivery stays in the queue.
             * @default []
             */
            permanent_statuses?: number[];
            /**
             * Format: uint32
             * @description Attempts a minute; no limit if absent.
             */
            rate_per_minute?: number | null;
            /** @description The waits between attempts. If absent: 5 seconds after the first attempt, then 15 seconds. */
            retry?: components["schemas"]["RetryInput"] | null;
            /**
             * @description Whether a `Retry-After` of the receiver lengthens the wait, to at most seven days.
             * @default false
             */
            retry_after?: boolean;
        };
        /** @enum {string} */
        DeliveryState: "pending" | "delivered" | "dead";
        /** @description A machine that waits for a login: `GET /api/oauth/devices/{user_code}`. */
        DeviceLogin: {
            /** @description The IP address from which the login was requested. */
            address: string;
            app: components["schemas"]["AppSummary"];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string;
            /** @description As shown on the machine: `BCDF-GHJK`. */
            user_code: string;
        };
        /** @description Answer of `GET /api/diagnostics`: the checks that the answering server made of itself. */
        Diagnostics: {
            checks: components["schemas"]["Check"][];
            /** Format: uuid */
            server_id: string;
            svc_version: string;
            /**
             * Format: date-time
             * @description The time on the server's clock.
             */
            time: string;
            /** @description The address for users: `public_url`, or the address that the server listens on. */
            url: string;
        };
        /**
         * @description `POST /api/events/emit`, and the agent's `POST /event`.
         * @example {
         *       "payload": {
         *         "files": 3
         *       },
         *       "type": "backup.done"
         *     }
         */
        Emit: {
            /**
             * @description At most 256 KiB of JSON.
             * @default {}
             */
            payload?: {
                [key: string]: unknown;
            };
            /** @description Segments joined by dots. The server prepends `custom.`. */
            type: string;
        };
        /** @description Answer to [`Emit`], with status 202. */
        EmittedEvent: {
            /** Format: uuid */
            event_id: string;
            event_type: string;
        };
        /**
         * @description `GET /api/events/{id}/deliveries`: the deliveries of an event to the receivers that the caller
         *     manages; with `view_audit`, to all receivers.
         */
        EventDeliveries: {
            deliveries: components["schemas"]["EventDelivery"][];
            next_cursor: string | null;
        };
        EventDelivery: {
            /**
             * @description Null if the caller does not manage the receiver. Null for a global sink also if the caller
             *     lacks a permission of the user who created the sink.
             */
            attempts: components["schemas"]["Attempt"][] | null;
            /**
             * Format: uint64
             * @description Number of the delivery, counted per receiver; null for an event that was dropped.
             */
            n: number | null;
            receiver: components["schemas"]["EventReceiver"];
            state: components["schemas"]["EventDeliveryState"];
        };
        EventDeliveryState: ("pending" | "delivered" | "dead") | "dropped";
        /** @description `GET /api/events/histogram`: the number of events in each of the equal parts of a time span. */
        EventHistogram: {
            /**
             * Format: date-time
             * @description Events before this time are not counted, because there are too many; null if all are counted.
             */
            counted_since: string | null;
            /** @description Oldest first. */
            counts: number[];
            /**
             * Format: date-time
             * @description The start of the first part. Without `since` in the query: the time of the oldest counted event.
             */
            since: string;
            /** Format: uint64 */
            total: number;
            /** Format: date-time */
            until: string;
        };
        /** @description The key by which the deliveries of a sink are ordered. */
        EventKey: {
            /** @description Why the key could not be computed. Its value is then empty. */
            error?: string | null;
            value: string;
        };
        EventReceiver: {
            /** Format: uuid */
            id: string;
            name: string;
            owner: components["schemas"]["SinkOwner"];
            /** Format: uuid */
            owner_id: string;
            /** @constant */
            type: "sink";
        } | {
            name: string;
            /** Format: uuid */
            owner_id: string;
            /** @constant */
            type: "method";
        };
        /** @description An event in the history and in the stream. */
        EventRecord: {
            actor: components["schemas"]["Actor"];
            data: {
                [key: string]: unknown;
            };
            /** Format: uuid */
            event_id: string;
            /** Format: date-time */
            event_ts: string;
            event_type: string;
            /** Format: uuid */
            owner_id: string;
            /**
             * Format: uuid
             * @description The nil UUID for an event without a space.
             */
            space_id: string;
        };
        /**
         * @description `GET /api/events`, newest first; filters: [`EventQuery`]. With `actor` or `text`, a page may
         *     have few or no events and still a cursor, because one request reads a limited number of events.
         */
        Events: {
            events: components["schemas"]["EventRecord"][];
            next_cursor: string | null;
        };
        /**
         * @description A webhook's request as it was sent, and the head of the response. The body of the response is the
         *     attempt's `output`.
         * @example {
         *       "remote_address": "192.0.2.1:443",
         *       "request": {
         *         "body": "{}",
         *         "body_bytes": 2,
         *         "headers": [
         *           {
         *             "name": "authorization",
         *             "value": "********"
         *           }
         *         ],
         *         "line": "POST /hook HTTP/1.1",
         *         "url": "https://example.com/hook"
         *       },
         *       "response": {
         *         "headers": [
         *           {
         *             "name": "content-length",
         *             "value": "0"
         *           }
         *         ],
         *         "status": 200
         *       },
         *       "timing": {
         *         "connect": 11.2,
         *         "dns": 0.4,
         *         "first_byte": 31.5,
         *         "tls": 24,
         *         "total": 67.9
         *       }
         *     }
         */
        Exchange: {
            /** @description The address that the request was sent to. Only callers with `view_audit` see it. */
            remote_address?: string | null;
            request: components["schemas"]["SentRequest"];
            /** @description `None` if no response arrived. */
            response: components["schemas"]["ResponseHead"] | null;
            timing: components["schemas"]["ExchangeTiming"];
        };
        /**
         * @description Parts of an attempt's time, in milliseconds. `dns`, `connect` and `tls` are absent if an open
         *     connection was reused.
         */
        ExchangeTiming: {
            /** Format: double */
            connect?: number | null;
            /** Format: double */
            dns?: number | null;
            /**
             * Format: double
             * @description From the start of the request to the head of the response.
             */
            first_byte?: number | null;
            /** Format: double */
            tls?: number | null;
            /** Format: double */
            total: number;
        };
        /** @description Waits that grow by a factor, up to a maximum. */
        Exponential: {
            /**
             * Format: double
             * @default 2
             */
            factor: number;
            /** Format: uint32 */
            first: number;
            /**
             * @description Whether each wait is shortened by a random part, up to half of it.
             * @default true
             */
            jitter: boolean;
            /** Format: uint32 */
            max: number;
        };
        /** @description Waits that grow by a factor, up to a maximum. */
        ExponentialInput: {
            /**
             * Format: double
             * @default 2
             */
            factor?: number;
            /** Format: uint32 */
            first: number;
            /**
             * @description Whether each wait is shortened by a random part, up to half of it.
             * @default true
             */
            jitter?: boolean;
            /** Format: uint32 */
            max: number;
        };
        FactorKind: "totp" | "passkey" | "recovery_code";
        FailingSink: {
            /** Format: date-time */
            at: string | null;
            /**
             * Format: uint64
             * @description How many of the newest 200 deliveries are dead and were not sent again.
             * @default 0
             */
            dead: number;
            /** @description Error of the last attempt. */
            error: string | null;
            /** @description Empty if no delivery of the sink is stored. */
            event_type: string;
            /**
             * @description Whether stored events wait for the sink outside its queue.
             * @default false
             */
            held: boolean;
            /** Format: uuid */
            id: string;
            /**
             * Format: uint64
             * @description Dropped events that were not replayed.
             * @default 0
             */
            lost: number;
            name: string;
            owner: components["schemas"]["SinkOwner"];
            /** @description Why and when the service paused the sink. */
            paused?: components["schemas"]["SinkPause"] | null;
            /**
             * Format: uint32
             * @description Events in the queue.
             * @default 0
             */
            queue_depth: number;
            /** @description Of the delivery that is retried (`pending`), or of the newest finished delivery. */
            state: components["schemas"]["DeliveryState"];
        };
        FeedKind: "resend" | "replay";
        /** @description A request to send past events again that has not ended. */
        FeedProgress: {
            kind: components["schemas"]["FeedKind"];
            /**
             * Format: uint64
             * @description How many of them were queued. The queue may still hold some of these.
             */
            queued: number;
            /**
             * Format: date-time
             * @description When the request was made.
             */
            since: string;
            /**
             * Format: uint64
             * @description The number of events that the request selected. Some of them may be skipped later, for example
             *     because their retention has ended.
             */
            total: number;
        };
        /** @description The decision of a sink's filter about an event. */
        FilterDecision: {
            /** @description Why the filter failed. Such an event is not delivered. */
            error?: string | null;
            /** @description Whether the sink takes the event, if a pattern matches. */
            passes: boolean;
        };
        /** @description A user's permission for an app. */
        Grant: {
            app: components["schemas"]["AppSummary"];
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description The app is disconnected at this time unless it is used before.
             */
            expires_at: string;
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            last_used_at: string | null;
            /** @description The host to which the browser returned. */
            redirect_host: string;
            scopes: components["schemas"]["OAuthScopes"];
            /** Format: uuid */
            user_id: string;
            username: components["schemas"]["UserName"];
        };
        Grants: {
            grants: components["schemas"]["Grant"][];
            next_cursor: string | null;
        };
        Group: {
            /** Format: date-time */
            created_at: string;
            /** Format: uuid */
            id: string;
            name: string;
        };
        /**
         * @example {
         *       "name": "ops"
         *     }
         */
        GroupBody: {
            name: components["schemas"]["Name"];
        };
        GroupMethod: {
            /** @description The name under which the caller would call the method. */
            name: string;
            /** @description Whether the method is shared with no other group. */
            only: boolean;
            owner: components["schemas"]["UserName"];
        };
        /**
         * @description The methods that are limited to this group, or to this group and others. If this group is
         *     deleted, a member can call such a method of another user only through one of the other groups.
         */
        GroupMethods: {
            /**
             * @description Sorted by name, at most 100. Callers without `manage_users` who are not members of the group see
             *     only the names of their own methods.
             */
            methods: components["schemas"]["GroupMethod"][];
            /**
             * Format: uint
             * @description Methods that are shared with no other group. Without this group, only their owners see them.
             */
            only: number;
            /**
             * Format: uint64
             * @description Active script sinks of members. Their scripts may call the methods.
             */
            script_sinks: number;
            /** Format: uint */
            total: number;
        };
        /**
         * @example {
         *       "name": "operators"
         *     }
         */
        GroupPatch: {
            name?: components["schemas"]["Name"];
        };
        Groups: {
            groups: components["schemas"]["Group"][];
            next_cursor: string | null;
        };
        HeaderField: {
            name: string;
            value: string;
        };
        Health: {
            /** @description `ok` */
            status: string;
        };
        /** @enum {string} */
        Health2: "unknown" | "healthy" | "unhealthy";
        /**
         * @description How an agent checks its space.
         * @example {
         *       "port": 8080,
         *       "type": "tcp"
         *     }
         */
        HealthCheck: {
            /** @description For `command`: run by a shell. */
            command?: string | null;
            /**
             * Format: uint32
             * @description Consecutive failures that make a space unhealthy. One success makes it healthy.
             * @default 3
             */
            failures: number;
            /**
             * Format: uint32
             * @default 10
             */
            interval_seconds: number;
            /**
             * Format: uint16
             * @description For `tcp`: a port of the loopback address.
             */
            port?: number | null;
            /**
             * Format: uint32
             * @default 5
             */
            timeout_seconds: number;
            /**
             * @description The kinds of [`Probe`], only for the schema. The parser reads a string, so that it can report an
             *     unknown kind with its own message.
             * @enum {string}
             */
            type: "none" | "tcp" | "http" | "command";
            /** @description For `http`: begins with `http://`. */
            url?: string | null;
        };
        /**
         * @description How an agent checks its space.
         * @example {
         *       "port": 8080,
         *       "type": "tcp"
         *     }
         */
        HealthCheckInput: {
            /** @description For `command`: run by a shell. */
            command?: string | null;
            /**
             * Format: uint32
             * @description Consecutive failures that make a space unhealthy. One success makes it healthy.
             * @default 3
             */
            failures?: number;
            /**
             * Format: uint32
             * @default 10
             */
            interval_seconds?: number;
            /**
             * Format: uint16
             * @description For `tcp`: a port of the loopback address.
             */
            port?: number | null;
            /**
             * Format: uint32
             * @default 5
             */
            timeout_seconds?: number;
            /**
             * @description The kinds of [`Probe`], only for the schema. The parser reads a string, so that it can report an
             *     unknown kind with its own message.
             * @enum {string}
             */
            type: "none" | "tcp" | "http" | "command";
            /** @description For `http`: begins with `http://`. */
            url?: string | null;
        };
        HeldPermission: {
            name: components["schemas"]["Permission"];
            /** @description The user's roles that grant the permission; empty if the user does not hold it. */
            roles: string[];
        };
        /** @enum {string} */
        HmacAlgorithm: "sha1" | "sha256" | "sha512";
        /**
         * @description `POST /api/auth/oidc/{name}/link` and `POST /api/auth/identities/{id}/remove`
         * @example {
         *       "password": "correct horse battery"
         *     }
         */
        IdentityProof: {
            /**
             * @description The user's password, entered again. Absent for a user without a password, who must have
             *     signed in with a provider within the last 10 minutes.
             */
            password?: string | null;
        };
        /** @enum {string} */
        JournalLevel: "none" | "outcome" | "payloads";
        JsonRpcConfig: {
            body_template: string | null;
        };
        JsonRpcConfigInput: {
            body_template?: string | null;
        };
        /**
         * @description Codes of the server: -32700 not JSON, -32600 not a request, -32601 no such method, -32602 params
         *     nested too deeply, -32603 answer too large or not valid, -32000 no provider, -32001 timeout,
         *     -32002 interrupted. Other codes come from the method itself.
         */
        JsonRpcError: {
            /** Format: int64 */
            code: number;
            data?: unknown;
            message: string;
        };
        /** @description A request without an id is a notification, which gets no response. */
        JsonRpcRequest: {
            id?: (string | number) | null;
            /** @constant */
            jsonrpc: "2.0";
            /** @description The name as the caller sees it: `notes.add`, or `user.<owner>.notes.add`. */
            method: string;
            params?: ({
                [key: string]: unknown;
            } | unknown[]) | null;
        };
        /**
         * @description Has either `result` or `error`.
         * @example {
         *       "id": 1,
         *       "jsonrpc": "2.0",
         *       "result": {
         *         "notes": 3
         *       }
         *     }
         */
        JsonRpcResponse: {
            error?: components["schemas"]["JsonRpcError"] | null;
            /** @description The id of the request; null if the request has no valid id. */
            id: (string | number) | null;
            /** @constant */
            jsonrpc: "2.0";
            result?: unknown;
        };
        LastDelivery: {
            /** Format: date-time */
            at: string;
            /** @description Error of the last attempt, if that attempt failed. */
            error: string | null;
            /** Format: uuid */
            event_id: string;
            event_type: string;
            /** Format: uint64 */
            n: number;
            state: components["schemas"]["DeliveryState"];
        };
        /** @description Where the browser goes to link an account. */
        LinkStarted: {
            redirect_to: string;
        };
        /** @description `GET /api/auth/identities`: the accounts at providers with which the caller signs in. */
        LinkedIdentities: {
            /** @description Whether the user can also sign in with a password. */
            has_password: boolean;
            identities: components["schemas"]["LinkedIdentity"][];
        };
        LinkedIdentity: {
            /** Format: date-time */
            created_at: string;
            display_name: string | null;
            email: string | null;
            /** Format: uuid */
            id: string;
            issuer: string;
            /** Format: date-time */
            last_login_at: string | null;
            /** @description The label of the provider. */
            provider: string;
        };
        /** @enum {string} */
        LogLevel: "trace" | "debug" | "info" | "warning" | "error";
        LogSource: "stderr" | "stdout" | "agent" | "script";
        /**
         * @example {
         *       "password": "correct horse battery",
         *       "username": "ann"
         *     }
         */
        Login: {
            password: string;
            username: string;
        };
        /** @description The answer to `POST /api/auth/login`: the user, or the second factor that is missing. */
        LoginResult: {
            second_factor: components["schemas"]["PendingLogin"];
        } | components["schemas"]["User"];
        /** @description `GET /api/spaces/{id}/logs`. The number `n` of a line is larger than those of earlier lines. */
        Logs: {
            logs: components["schemas"]["NumberedLine"][];
            /** @description `cursor` of the next request. */
            next_cursor: string | null;
        };
        /**
         * @description `POST /mcp`: a message of the Model Context Protocol, or a batch in versions that have batches.
         * @example {
         *       "id": 1,
         *       "jsonrpc": "2.0",
         *       "method": "tools/list"
         *     }
         */
        McpBody: components["schemas"]["JsonRpcRequest"] | components["schemas"]["JsonRpcRequest"][];
        /**
         * @description Has either `result` or `error`.
         * @example {
         *       "id": 1,
         *       "jsonrpc": "2.0",
         *       "result": {
         *         "tools": []
         *       }
         *     }
         */
        McpResponse: {
            error?: components["schemas"]["JsonRpcError"] | null;
            /** @description Absent if the request had no valid id. */
            id?: (string | number) | null;
            /** @constant */
            jsonrpc: "2.0";
            result?: unknown;
        };
        /** @description MCP responses. */
        McpResult: components["schemas"]["McpResponse"] | components["schemas"]["McpResponse"][];
        /** @description `GET /api/auth/me` */
        Me: {
            /**
             * @description `token`, `session`, `app` or `agent`; `script` for a script that the server runs;
             *     `enrolment` for a session that may only set up a second factor, because a role requires one.
             * @enum {string}
             */
            credential: "token" | "session" | "app" | "agent" | "script" | "enrolment";
            groups: string[];
            /** Format: uuid */
            id: string;
            permissions: components["schemas"]["Permission"][];
            /**
             * @description The user's quotas on this server.
             * @default {
             *       "audit_bytes": 10485760,
             *       "event_bytes": 1073741824,
             *       "methods": 20000,
             *       "schedules": 100,
             *       "scripts": 500,
             *       "sinks": 100,
             *       "sources": 100,
             *       "spaces": 500,
             *       "streams": 50,
             *       "tokens": 200
             *     }
             */
            quotas: components["schemas"]["Quotas"];
            roles: string[];
            /** @description The scopes of a token or an app; empty for other credentials. */
            scopes: components["schemas"]["Scopes"];
            /**
             * Format: uuid
             * @description The space of an agent token.
             */
            space_id: string | null;
            username: components["schemas"]["UserName"];
        };
        /**
         * @description A method as one caller sees it. `local_name` and the fields after it are filled only for the
         *     owner.
         */
        Method: {
            /**
             * @description The hints in the registration. Hints that it does not contain are absent.
             * @default {}
             */
            annotations: components["schemas"]["Annotations"];
            /**
             * Format: uint
             * @description Number of groups in the registration that were deleted later. If all groups of the method
             *     are deleted, only the owner sees the method.
             * @default 0
             */
            deleted_groups: number;
            description: string;
            /** @description Absent if it is `drop`. */
            event_overflow?: components["schemas"]["Overflow"];
            event_sinks: string[];
            events: string[];
            groups: string[];
            /**
             * @description What the call journal records of each call: `none`, its `outcome`, or `payloads`, which adds
             *     params, results and errors.
             * @default outcome
             */
            journal: components["schemas"]["JournalLevel"];
            /**
             * @description JSON pointers to the values of params, results and errors that are not recorded. Absent if
             *     there are none.
             */
            journal_redact?: string[];
            keywords: string[];
            local_name: string | null;
            mcp_tool: boolean;
            mcp_tool_name: string | null;
            name: string;
            owner: components["schemas"]["UserName"];
            /** Format: uuid */
            owner_id: string;
            /** @description A JSON Schema. */
            params_schema: unknown;
            /**
             * Format: uint
             * @description Providers that can take calls now.
             */
            provider_count: number;
            providers: components["schemas"]["Provider"][];
            /** @description A JSON Schema. */
            result_schema: unknown;
            scope: components["schemas"]["MethodScope"];
            /** @default null */
            title: string | null;
        };
        /** @description Answered calls of a method in each hour. */
        MethodActivity: {
            calls: number[];
            /** @description Calls that were answered with an error, including errors of the method itself. */
            errors: number[];
            /** @description The name without `user.<owner>.`. */
            method: string;
        };
        /** @enum {string} */
        MethodScope: "private" | "shared";
        /** @description `GET /api/methods/{name}/stats` */
        MethodStats: {
            /** @description The name without `user.<owner>.`. */
            method: string;
            /** Format: uuid */
            owner_id: string;
            /** @description Oldest first. The last point is not complete. */
            points: components["schemas"]["MethodStatsPoint"][];
            range: components["schemas"]["StatsRange"];
            /**
             * Format: uint64
             * @description Seconds from the start of a point to the start of the next point.
             */
            step_seconds: number;
            /** @description All calls of the range. */
            total: components["schemas"]["MethodStatsPoint"];
        };
        /** @description Answered calls. Notifications have no answer and are not counted. */
        MethodStatsPoint: {
            /**
             * Format: date-time
             * @description The start of the period whose calls are counted.
             */
            at: string;
            /** Format: uint64 */
            calls: number;
            /**
             * Format: uint64
             * @description Calls that were answered with an error, including errors of the method itself.
             */
            errors: number;
            /**
             * Format: double
             * @description Null without calls.
             */
            p50_ms: number | null;
            /** Format: double */
            p95_ms: number | null;
            /** Format: double */
            p99_ms: number | null;
        };
        /** @description `GET /api/methods` */
        Methods: {
            /**
             * Format: uint
             * @description Number of methods on all pages.
             */
            count: number;
            methods: components["schemas"]["Method"][];
            /** @description The cursor of the next page, null on the last page. Absent if the whole list was requested. */
            next_cursor?: string | null;
        };
        /** @enum {string} */
        MissedPolicy: "skip" | "once" | "all";
        /**
         * @description Letters and digits of any script, `.`, `_`, `-`, `@`, and blanks between them
         * @example backup
         */
        Name: string;
        /**
         * @example {
         *       "name": "Dashboard",
         *       "redirect_uris": [
         *         "https://dash.example.com/callback"
         *       ]
         *     }
         */
        NewApp: {
            /**
             * @description Whether the app keeps a secret on a server of its own.
             * @default false
             */
            confidential?: boolean;
            name: components["schemas"]["Name"];
            redirect_uris: string[];
        };
        /**
         * @example {
         *       "client_id": "svc",
         *       "client_secret": "from the provider",
         *       "groups_claim": "groups",
         *       "issuer": "https://id.example.com/realms/corp",
         *       "label": "Corp account",
         *       "mappings": [
         *         {
         *           "role": "admin",
         *           "value": "svc-admins"
         *         }
         *       ],
         *       "name": "corp"
         *     }
         */
        NewOidcProvider: {
            client_id: string;
            /** @description Absent for a public client. */
            client_secret?: string | null;
            /** @default false */
            create_users?: boolean;
            /** @default true */
            enabled?: boolean;
            groups_claim?: string | null;
            /**
             * @description The issuer, exactly as the provider writes it. If it ends with a slash, keep the slash. The
             *     issuer cannot be changed later.
             */
            issuer: string;
            /** @description The text of the button; the name if absent. */
            label?: string | null;
            /** @default [] */
            mappings?: components["schemas"]["ClaimMapping"][];
            /**
             * @description Lower-case letters, digits and single hyphens. The name cannot be changed, because it is in
             *     the URLs of this server that are configured at the provider.
             */
            name: components["schemas"]["UserName"];
            /** @default {} */
            required_claims?: {
                [key: string]: string[];
            };
            /** @description `openid`, `profile` and `email` if absent. */
            scopes?: string[] | null;
        };
        /**
         * @description `POST /api/auth/passkeys`: adds a passkey that the browser has created.
         * @example {
         *       "authenticator_data": "SZYN5Y…",
         *       "client_data": "eyJ0eXBlIjoi…",
         *       "name": "Phone"
         *     }
         */
        NewPasskey: {
            /** @description `response.getAuthenticatorData()` of the browser. */
            authenticator_data: string;
            /** @description `response.clientDataJSON` of the browser. */
            client_data: string;
            /** @description Between 1 and 60 characters. */
            name: string;
        };
        /**
         * @example {
         *       "name": "auditor",
         *       "permissions": [
         *         "view_audit"
         *       ]
         *     }
         */
        NewRole: {
            name: components["schemas"]["Name"];
            /** @default [] */
            permissions?: components["schemas"]["Permission"][];
            /**
             * @description Whether users with this role need a second factor to log in with their password.
             * @default false
             */
            require_second_factor?: boolean;
        };
        /**
         * @example {
         *       "cron": "0 2 * * *",
         *       "name": "nightly",
         *       "payload": {
         *         "job": "backup"
         *       },
         *       "timezone": "Europe/Berlin"
         *     }
         */
        NewSchedule: {
            /** @default true */
            active?: boolean;
            /** @description Minute, hour, day of month, month, day of week. */
            cron: string;
            /** @default  */
            description?: string;
            /** @default once */
            missed?: components["schemas"]["MissedPolicy"];
            name: string;
            /** @description Copied into the data of each event, as `payload`. */
            payload?: {
                [key: string]: unknown;
            } | null;
            /**
             * @description A name of the IANA time zone database; `UTC` if absent.
             * @default UTC
             */
            timezone?: string;
        };
        /**
         * @example {
         *       "description": "Greets a person",
         *       "kind": "tool",
         *       "name": "greet",
         *       "source": "def main(params):\n    return 'Hello ' + params['name']\n"
         *     }
         */
        NewScript: {
            annotations?: components["schemas"]["Annotations"];
            /** @default  */
            description?: string;
            kind: components["schemas"]["ScriptKind"];
            /** @description The name of a library is a Python name. */
            name: components["schemas"]["Name"];
            /** @default user */
            owner?: components["schemas"]["ScriptOwner"];
            /**
             * @description For tools: the JSON Schema of the params of `main`.
             * @default null
             */
            params_schema?: unknown;
            source: string;
            /** @default null */
            title?: string | null;
        };
        /**
         * @example {
         *       "name": "audit trail",
         *       "patterns": [
         *         "custom.*"
         *       ],
         *       "type": "webhook",
         *       "webhook": {
         *         "url": "https://example.com/hook"
         *       }
         *     }
         */
        NewSink: {
            /** @default true */
            active?: boolean;
            /** @description How events are delivered. Settings that are absent have their default values. */
            delivery?: components["schemas"]["DeliveryPolicyInput"] | null;
            /** @default  */
            description?: string;
            json_rpc?: components["schemas"]["JsonRpcConfigInput"] | null;
            name: components["schemas"]["Name"];
            /** @default user */
            owner?: components["schemas"]["SinkOwner"];
            patterns: components["schemas"]["PatternsInput"];
            script?: components["schemas"]["ScriptConfigInput"] | null;
            type: components["schemas"]["SinkType"];
            webhook?: components["schemas"]["WebhookConfigInput"] | null;
        };
        /**
         * @example {
         *       "name": "github",
         *       "verify": {
         *         "type": "github"
         *       }
         *     }
         */
        NewSource: {
            /** @default true */
            active?: boolean;
            /** @default  */
            description?: string;
            /** @default {} */
            event_type?: components["schemas"]["TypeRule"];
            /** @default [] */
            headers?: string[];
            name: string;
            verify: components["schemas"]["Verification"];
        };
        /**
         * @example {
         *       "name": "notes"
         *     }
         */
        NewSpace: {
            health_check?: components["schemas"]["HealthCheckInput"] | null;
            name: components["schemas"]["SpaceName"];
            runtime?: components["schemas"]["Runtime"] | null;
            /** Format: uuid */
            startup_script_id?: string | null;
            /** Format: uuid */
            template_id?: string | null;
        };
        /**
         * @example {
         *       "name": "web",
         *       "ports": [
         *         {
         *           "name": "http",
         *           "port": 8080
         *         }
         *       ]
         *     }
         */
        NewTemplate: {
            /** @default {} */
            custom_fields?: {
                [key: string]: string;
            };
            health_check?: components["schemas"]["HealthCheckInput"] | null;
            name: components["schemas"]["Name"];
            /** @default [] */
            ports?: components["schemas"]["Port"][];
            /** Format: uuid */
            startup_script_id?: string | null;
        };
        /**
         * @example {
         *       "expires_in_days": 90,
         *       "name": "ci",
         *       "scopes": [
         *         "methods"
         *       ]
         *     }
         */
        NewToken: {
            /** Format: uint32 */
            expires_in_days?: number | null;
            name: components["schemas"]["Name"];
            /** @description Unrestricted if empty or absent (spec 5.4). */
            scopes?: components["schemas"]["Scope"][] | null;
        };
        /**
         * @example {
         *       "groups": [
         *         "ops"
         *       ],
         *       "password": "correct horse battery",
         *       "username": "ann"
         *     }
         */
        NewUser: {
            /** @default true */
            active?: boolean;
            /** @default [] */
            groups?: string[];
            password: string;
            /** @description Names of roles; the built-in role `user` if absent. */
            roles?: string[] | null;
            username: components["schemas"]["UserName"];
        };
        NextRuns: {
            runs: string[];
        };
        NumberedLine: {
            /** Format: date-time */
            at: string;
            line: string;
            /** Format: uint64 */
            n: number;
            source: components["schemas"]["LogSource"];
        };
        /** @enum {string} */
        OAuthScope: "methods" | "mcp" | "cli";
        /** @description At least one scope, sorted. */
        OAuthScopes: components["schemas"]["OAuthScope"][];
        /**
         * @description `GET /api/oidc/providers/{id}/check`: checks in several steps whether users can sign in with the
         *     provider.
         */
        OidcCheck: {
            /** @description True if no step failed. */
            ok: boolean;
            steps: components["schemas"]["OidcCheckStep"][];
        };
        OidcCheckStep: {
            /** @description What to do; absent if there is nothing to do. */
            advice?: string | null;
            /** @description The result of the step, in words. */
            detail: string;
            ok: boolean;
            step: string;
        };
        /** @description A provider, for administrators. Its client secret is never shown. */
        OidcProvider: {
            client_id: string;
            /** @description Whether unknown users get an account. */
            create_users: boolean;
            /** Format: date-time */
            created_at: string;
            enabled: boolean;
            /** @description The claim with the groups of a user: its name, or a path such as `realm_access.roles`. */
            groups_claim: string | null;
            has_secret: boolean;
            /** Format: uuid */
            id: string;
            /**
             * Format: uint64
             * @description Number of accounts at the provider that are linked to users.
             */
            identities: number;
            issuer: string;
            /** @description The text of the button on the sign-in page. */
            label: string;
            mappings: components["schemas"]["ClaimMapping"][];
            /** @description Part of this server's URLs for the provider, such as `/api/auth/oidc/{name}/callback`. */
            name: string;
            /**
             * @description The accepted values of each claim. An unknown user gets an account only if every claim
             *     listed here has an accepted value.
             */
            required_claims: {
                [key: string]: string[];
            };
            scopes: string[];
        };
        /**
         * @example {
         *       "enabled": false
         *     }
         */
        OidcProviderPatch: {
            client_id?: string;
            /** @description `null` makes the client public. */
            client_secret?: string | null;
            create_users?: boolean;
            enabled?: boolean;
            groups_claim?: string | null;
            label?: string;
            mappings?: components["schemas"]["ClaimMapping"][];
            required_claims?: {
                [key: string]: string[];
            };
            scopes?: string[];
        };
        OidcProviders: {
            next_cursor: string | null;
            providers: components["schemas"]["OidcProvider"][];
        };
        OnExhausted: "skip" | "pause";
        Ordering: "strict" | "key";
        /** @description The sum of several groups of calls. */
        OtherCallGroups: {
            /** Format: uint64 */
            calls: number;
            /** Format: uint64 */
            failed: number;
            /**
             * Format: uint64
             * @description The number of groups.
             */
            groups: number;
        };
        Overflow: "drop" | "hold";
        /** @description A passkey of the caller. */
        Passkey: {
            /** Format: date-time */
            created_at: string;
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            last_used_at: string | null;
            name: string;
        };
        /**
         * @description `POST /api/auth/passkeys/challenge`: begins a login with a passkey.
         * @example {
         *       "token": "svc_lgn_…"
         *     }
         */
        PasskeyChallenge: {
            /**
             * @description The token from the answer to `POST /api/auth/login`. Without it, the passkey replaces user
             *     name and password.
             */
            token?: string | null;
        };
        /** @description `POST /api/auth/passkeys/begin`: what `navigator.credentials.create` needs. */
        PasskeyCreation: {
            /** @description COSE numbers of the accepted algorithms, the preferred one first. */
            algorithms: number[];
            challenge: string;
            /** @description Passkeys that the user has already. */
            exclude: string[];
            /** Format: date-time */
            expires_at: string;
            /** @description The host name that the passkey belongs to. */
            rp_id: string;
            /** @description The name of this server. */
            rp_name: string;
            user_id: string;
            user_name: string;
        };
        /**
         * @description `POST /api/auth/passkeys/login`: completes a login with the passkey's answer to the challenge.
         * @example {
         *       "authenticator_data": "SZYN5Y…",
         *       "client_data": "eyJ0eXBlIjoi…",
         *       "credential_id": "dGVzdA",
         *       "signature": "MEUCIQ…",
         *       "user_handle": "AZpk…"
         *     }
         */
        PasskeyLogin: {
            authenticator_data: string;
            /** @description `response.clientDataJSON` of the browser. */
            client_data: string;
            credential_id: string;
            signature: string;
            /** @description The token that was sent to request the challenge, if there was one. */
            token?: string | null;
            /** @description The user of the passkey, if the passkey reports it. */
            user_handle?: string | null;
        };
        /**
         * @description `PATCH /api/auth/passkeys/{id}`: a merge patch.
         * @example {
         *       "name": "Work laptop"
         *     }
         */
        PasskeyPatch: {
            /** @description Between 1 and 60 characters. */
            name?: string;
        };
        /** @description Answer to [`PasskeyChallenge`]: what `navigator.credentials.get` needs. */
        PasskeyRequest: {
            /** @description The passkeys of the user. Empty without a token: the browser lets the user choose. */
            allow: string[];
            challenge: string;
            /** Format: date-time */
            expires_at: string;
            rp_id: string;
            /** @description Whether the device must verify its user, such as by a PIN: `required` or `preferred`. */
            user_verification: string;
        };
        /**
         * @description The password of the caller, for changes of their second factor.
         * @example {
         *       "password": "correct horse battery"
         *     }
         */
        PasswordProof: {
            password: string;
        };
        /** @description Patterns as an array, or as one string, separated by commas. */
        PatternsInput: string[] | string;
        /** @enum {string} */
        PayloadOmission: "too_large" | "unreadable" | "dropped";
        /** @description A login that waits for its second factor. */
        PendingLogin: {
            /** Format: date-time */
            expires_at: string;
            /** @description The second factors that the user can present. */
            methods: components["schemas"]["FactorKind"][];
            /**
             * @description Identifies this login in `POST /api/auth/second-factor` and in the requests of a login with
             *     a passkey. No other request accepts it.
             */
            token: string;
        };
        /** @enum {string} */
        Permission: "use_spaces" | "manage_spaces" | "use_methods" | "use_mcp" | "manage_own_event_sinks" | "manage_global_event_sinks" | "manage_scripts" | "manage_templates" | "manage_users" | "manage_groups" | "manage_roles" | "view_audit";
        /** @description `GET /api/permissions` */
        PermissionList: {
            next_cursor: string | null;
            permissions: components["schemas"]["Permission"][];
        };
        Port: {
            name: components["schemas"]["Name"];
            /** Format: uint16 */
            port: number;
        };
        /**
         * @description `POST /api/event-sinks/preview` and `POST /api/event-sinks/{id}/test`.
         * @example {
         *       "data": {
         *         "files": 3
         *       },
         *       "dry_run": true,
         *       "event_type": "custom.backup.done"
         *     }
         */
        Preview: {
            /** @description The template to render. If absent: the default body (preview), or the sink's template (test). */
            body_template?: string | null;
            data?: {
                [key: string]: unknown;
            } | null;
            /**
             * @description For test: render only, send nothing.
             * @default false
             */
            dry_run?: boolean;
            /**
             * Format: uuid
             * @description A past event to render; a sample event if absent.
             */
            event_id?: string | null;
            /** @description Type of the sample event; `data` is its data. */
            event_type?: string | null;
            /** @description For preview: the filter of the sink. A test uses the filter of the sink. */
            filter?: string | null;
            /** @description For preview of a webhook: the format of the body. A test uses the format of the sink. */
            format?: components["schemas"]["WebhookFormat"] | null;
            /** @description For preview: the expression that orders deliveries. A test uses the key of the sink. */
            key?: string | null;
            /** @description For preview: patterns to compare with the event's type. */
            patterns?: components["schemas"]["PatternsInput"] | null;
            /** @description For preview: the type of the sink; webhook if absent. A test uses the type of the sink. */
            type?: components["schemas"]["SinkType"] | null;
        };
        PreviewResult: {
            /** @description For test without dry run: the attempt. */
            attempt?: components["schemas"]["Attempt"] | null;
            /** @description The rendered body, as it would be sent. */
            body: string;
            /**
             * @description The type of the rendered event.
             * @default
             */
            event_type: string;
            /** @description The decision of the filter; absent without a filter. */
            filter?: components["schemas"]["FilterDecision"] | null;
            /**
             * @description The headers that the format of a webhook adds: `content-type` and, with
             *     `cloudevents-binary`, the attributes. Empty for other sinks.
             */
            format_headers?: {
                [key: string]: string;
            };
            /** @description The key of the event; absent without a key expression. */
            key?: components["schemas"]["EventKey"] | null;
            /** @description The patterns that match. For preview: `None` if no patterns were given. */
            matched_patterns?: string[] | null;
        };
        /** @description An error (RFC 9457). */
        Problem: {
            /** @description For programs: an identifier that stays the same in later versions. */
            code: string;
            /** @description For people: names the value and what to do. */
            detail: string;
            /** Format: uint64 */
            limit?: number;
            /** @description The server's setting that defines the limit, such as `quotas.sinks`. */
            setting?: string;
            /** Format: uint16 */
            status: number;
            title: string;
            type: string;
        };
        Provider: {
            /** Format: uint32 */
            in_flight: number;
            space: components["schemas"]["SpaceName"];
            /** Format: uuid */
            space_id: string;
            /**
             * @description `ready`, `restarting` or `unlinked`.
             * @enum {string}
             */
            state: "ready" | "restarting" | "unlinked";
        };
        /** @description A kind of thing that is counted per user. */
        Quota: "spaces" | "tokens" | "scripts" | "sinks" | "sources" | "schedules" | "methods" | "event_bytes" | "audit_bytes" | "streams";
        QuotaUse: {
            /** @description Whether an administrator set the limit for this user. */
            is_own_value: boolean;
            /** Format: uint64 */
            limit: number;
            quota: components["schemas"]["Quota"];
            /** Format: uint64 */
            used: number;
        };
        /** @description `GET /api/stats/quotas`: the quotas of a user and their use. */
        QuotaUses: {
            /** @description Every quota. The methods and streams at other servers of the zone are not counted. */
            quotas: components["schemas"]["QuotaUse"][];
            /** Format: uuid */
            user_id: string;
        };
        /** @description The value of every quota. A quota of 0 allows nothing. */
        Quotas: {
            /**
             * Format: uint64
             * @description Bytes of audit entries about the user's own changes, within a day (UTC).
             */
            audit_bytes: number;
            /**
             * Format: uint64
             * @description Bytes of the user's stored events, and of the answers and errors of their deliveries, except
             *     events that only global sinks still need.
             */
            event_bytes: number;
            /**
             * Format: uint64
             * @description Methods that all spaces of the user publish on one server.
             */
            methods: number;
            /**
             * Format: uint64
             * @description Schedules.
             */
            schedules: number;
            /**
             * Format: uint64
             * @description Stored scripts. All global scripts count together, as if one user owned them.
             */
            scripts: number;
            /**
             * Format: uint64
             * @description Event sinks. All global sinks count together, as if one user owned them.
             */
            sinks: number;
            /**
             * Format: uint64
             * @description Sources: URLs to which other services send requests.
             */
            sources: number;
            /**
             * Format: uint64
             * @description Spaces that are not deleted.
             */
            spaces: number;
            /**
             * Format: uint64
             * @description Streams (of events, of calls, of MCP) that are open at the same time.
             */
            streams: number;
            /**
             * Format: uint64
             * @description API tokens, expired ones included until they are revoked.
             */
            tokens: number;
        };
        Readiness: {
            /**
             * @description `unavailable` if a server of a zone works without its database for the moment. `disk_full` or
             *     `not_writable` if the embedded database can only be read.
             */
            database?: string | null;
            /** @description Why the server is not ready. */
            reason?: string | null;
            /** @description `ready` or `unready` */
            status: string;
        };
        /** @description New recovery codes. Earlier ones are not valid any more. */
        RecoveryCodes: {
            /** @description Each code is valid once. Only this answer contains them. */
            recovery_codes: string[];
        };
        /** @description Whether a space publishes methods. */
        RegistrationStatus: {
            /** @constant */
            state: "none";
        } | {
            /** Format: uint */
            methods: number;
            /** @constant */
            state: "active";
        } | {
            /** Format: uint */
            methods: number;
            /** @constant */
            state: "waiting";
        } | {
            error: string;
            /** @constant */
            state: "refused";
        };
        /**
         * @description `POST /api/event-sinks/{id}/replay`: queues past events that match the sink's patterns and
         *     filter.
         * @example {
         *       "since": "2026-11-15T00:00:00Z"
         *     }
         */
        Replay: {
            /** @description Count only, and queue nothing. */
            dry_run?: boolean;
            /**
             * @description Whether events are queued as the queue drains, so that none is dropped. If absent: true with
             *     `only`, otherwise false.
             */
            feed?: boolean | null;
            /** @description Which of these events are queued; all if absent. */
            only?: components["schemas"]["ReplayOnly"] | null;
            /**
             * Format: date-time
             * @description 24 hours ago if absent.
             */
            since?: string | null;
            /**
             * Format: date-time
             * @description Now if absent.
             */
            until?: string | null;
        };
        ReplayOnly: "undelivered";
        ReplayResult: {
            /**
             * Format: uint32
             * @description Matching events that did not fit into the queue.
             */
            dropped: number;
            /**
             * Format: uint32
             * @description Matching events that are queued as the queue drains.
             */
            feeding?: number;
            /**
             * Format: uint32
             * @description With `dry_run`: matching events.
             */
            matching?: number | null;
            /** Format: uint32 */
            queued: number;
        };
        RequestOutcome: "accepted" | "repeated" | "challenge" | "rejected";
        /**
         * @description `POST /api/event-sinks/{id}/resend`: sends finished deliveries again. Give either `deliveries`
         *     or `dead_since`.
         * @example {
         *       "dead_since": "2026-11-15T00:00:00Z",
         *       "dry_run": true
         *     }
         */
        Resend: {
            /**
             * Format: date-time
             * @description All dead deliveries since this time that were not sent again.
             */
            dead_since?: string | null;
            /** @description Numbers of deliveries. */
            deliveries?: number[] | null;
            /** @description Count only, and queue nothing. */
            dry_run?: boolean;
        };
        ResendResult: {
            /**
             * Format: uint32
             * @description Deliveries that are sent again. They are queued as the queue drains.
             */
            feeding: number;
            /**
             * @description Named deliveries that cannot be sent again: they do not exist, still wait, or their event is
             *     past its retention.
             */
            skipped: number[];
        };
        ResponseHead: {
            /** @description Only the first headers are kept. */
            headers: components["schemas"]["HeaderField"][];
            /** Format: uint16 */
            status: number;
        };
        /**
         * @description The waits between attempts, in seconds.
         * @example {
         *       "waits": [
         *         5,
         *         60,
         *         3600
         *       ]
         *     }
         */
        Retry: {
            waits: number[];
        } | {
            exponential: components["schemas"]["Exponential"];
        };
        /**
         * @description The waits between attempts, in seconds.
         * @example {
         *       "waits": [
         *         5,
         *         60,
         *         3600
         *       ]
         *     }
         */
        RetryInput: {
            waits: number[];
        } | {
            exponential: components["schemas"]["ExponentialInput"];
        };
        Role: {
            /** @description True for `admin` and `user`, whose names and permissions cannot be changed. */
            builtin: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: uuid */
            id: string;
            name: string;
            permissions: components["schemas"]["Permission"][];
            /**
             * @description Whether users with this role need a second factor to log in with their password.
             * @default false
             */
            require_second_factor: boolean;
        };
        /**
         * @example {
         *       "permissions": [
         *         "view_audit",
         *         "use_methods"
         *       ]
         *     }
         */
        RolePatch: {
            name?: components["schemas"]["Name"];
            permissions?: components["schemas"]["Permission"][];
            /** @description The only member that may change in a built-in role. */
            require_second_factor?: boolean;
        };
        Roles: {
            next_cursor: string | null;
            roles: components["schemas"]["Role"][];
        };
        /**
         * @description `POST /api/event-sinks/{id}/rotate-secret`
         * @example {
         *       "overlap_hours": 48
         *     }
         */
        RotateSecret: {
            /**
             * Format: uint32
             * @description The number of hours in which messages are also signed with the old secret; 24 if absent.
             * @default null
             */
            overlap_hours?: number | null;
        };
        /**
         * @description `POST /api/sources/{id}/rotate`
         * @example {
         *       "overlap_hours": 48
         *     }
         */
        RotateSource: {
            /**
             * Format: uint32
             * @description For how many hours requests with the old secret are accepted too; 24 if absent.
             */
            overlap_hours?: number | null;
            /** @description The new secret; a generated one if absent. */
            secret?: string | null;
            /**
             * @description Create a new URL instead of a new secret. The old URL stops working at once.
             * @default false
             */
            url?: boolean;
        };
        /**
         * @description `POST /api/scripts/run`: runs a script that is not stored, once, with the permissions of the
         *     caller. The caller must be allowed to store the script.
         * @example {
         *       "kind": "tool",
         *       "params": {
         *         "name": "Ann"
         *       },
         *       "source": "def main(params):\n    return 'Hello ' + params['name']\n"
         *     }
         */
        RunNewScript: {
            /**
             * Format: uuid
             * @description For sink scripts: a stored event that the caller sees, instead of a sample event.
             */
            event_id?: string | null;
            /** @description For sink scripts: the type of the sample event. */
            event_type?: string | null;
            kind: components["schemas"]["ScriptKind"];
            /** @description The name in tracebacks; `draft` if absent. */
            name?: components["schemas"]["Name"] | null;
            /**
             * @description A global script imports global libraries only, and needs `manage_scripts`.
             * @default user
             */
            owner?: components["schemas"]["ScriptOwner"];
            /** @description Params of a tool's `main`; `{}` if absent. */
            params?: {
                [key: string]: unknown;
            } | null;
            source: string;
        };
        /**
         * @description `POST /api/scripts/{id}/run`: runs a script once, with the permissions of the caller.
         * @example {
         *       "params": {
         *         "name": "Ann"
         *       }
         *     }
         */
        RunScript: {
            /**
             * Format: uuid
             * @description For sink scripts: a stored event that the caller sees, instead of a sample event.
             */
            event_id?: string | null;
            /** @description For sink scripts: the type of the sample event. */
            event_type?: string | null;
            /** @description Params of a tool's `main`; `{}` if absent. */
            params?: {
                [key: string]: unknown;
            } | null;
            /**
             * @description Run this text instead of the stored source, which stays unchanged. The caller must be
             *     allowed to change the script.
             */
            source?: string | null;
        };
        /** @enum {string} */
        Runtime: "external" | "local";
        /** @description Emits `schedule.<name>` at the times of a cron expression. */
        Schedule: {
            active: boolean;
            /** Format: date-time */
            created_at: string;
            cron: string;
            description: string;
            /** @description Why the last run emitted no event. */
            failure: string | null;
            /** Format: uuid */
            id: string;
            /**
             * Format: date-time
             * @description The planned time of the last scheduled run that emitted an event.
             */
            last_at: string | null;
            /** Format: uuid */
            last_event_id: string | null;
            missed: components["schemas"]["MissedPolicy"];
            name: string;
            /**
             * Format: date-time
             * @description The next run; `None` if the schedule is not active or has no further run.
             */
            next_at: string | null;
            /** Format: uuid */
            owner_id: string;
            payload: {
                [key: string]: unknown;
            };
            timezone: string;
        };
        /**
         * @description A merge patch. `payload` is replaced as a whole.
         * @example {
         *       "cron": "30 2 * * *"
         *     }
         */
        SchedulePatch: {
            active?: boolean;
            cron?: string;
            description?: string;
            missed?: components["schemas"]["MissedPolicy"];
            name?: string;
            payload?: {
                [key: string]: unknown;
            };
            timezone?: string;
        };
        Schedules: {
            next_cursor: string | null;
            schedules: components["schemas"]["Schedule"][];
        };
        /** @enum {string} */
        Scope: "methods" | "mcp";
        /** @description The scopes of a token. An empty list means unrestricted (spec 5.4). */
        Scopes: components["schemas"]["Scope"][];
        Script: {
            /**
             * @description For tools: hints about what the tool does. Unknown hints are absent.
             * @default {}
             */
            annotations: components["schemas"]["Annotations"];
            /** Format: date-time */
            created_at: string;
            description: string;
            /** Format: uuid */
            id: string;
            kind: components["schemas"]["ScriptKind"];
            /** @description Unique per owner and kind. The name of a library is a Python name. */
            name: string;
            owner: components["schemas"]["ScriptOwner"];
            /**
             * Format: uuid
             * @description For a global script, the user who created it.
             */
            owner_id: string;
            /** @description For tools: the schema of the params of `main`. */
            params_schema: unknown;
            source: string;
            /**
             * @description For tools: a name for people.
             * @default null
             */
            title: string | null;
            /** Format: date-time */
            updated_at: string;
        };
        ScriptCheck: {
            /**
             * @description Why the source would be rejected, with its line (`draft.py:4: SyntaxError: …`); null if the
             *     source would be accepted.
             */
            problem: string | null;
        };
        ScriptConfig: {
            /** Format: uuid */
            script_id: string | null;
            source: string | null;
        };
        ScriptConfigInput: {
            /** Format: uuid */
            script_id?: string | null;
            source?: string | null;
        };
        /** @description Why a script failed or is rejected, and where. */
        ScriptFault: {
            file: string | null;
            /**
             * Format: uint32
             * @description The line number, counted from 1.
             */
            line: number | null;
            /** @description One line, such as `ValueError: no such note`. */
            message: string;
            /** @description The text of that line. */
            source_line: string | null;
            /** @description The whole traceback, as Python prints it. */
            traceback: string;
        };
        /** @description The purpose of a stored script. */
        ScriptKind: "startup" | "library" | "sink" | "tool";
        ScriptOwner: "user" | "global";
        /**
         * @description A merge patch. Kind and owner never change.
         * @example {
         *       "description": "Greets a person by name"
         *     }
         */
        ScriptPatch: {
            annotations?: components["schemas"]["AnnotationsPatch"] | null;
            description?: string;
            name?: components["schemas"]["Name"];
            params_schema?: unknown;
            source?: string;
            title?: string | null;
        };
        /** @description The outcome of a run. If the script fails, the request still succeeds. */
        ScriptRunResult: {
            error: components["schemas"]["ScriptFault"] | null;
            /** Format: uint64 */
            ms: number;
            /** @description The script's output, possibly truncated. */
            output: string;
            /** @description The return value of `main`; null for sinks and on failure. */
            result: unknown;
        };
        Scripts: {
            next_cursor: string | null;
            scripts: components["schemas"]["Script"][];
        };
        /**
         * @description `POST /api/auth/second-factor`: completes a login.
         * @example {
         *       "code": "123456",
         *       "token": "svc_lgn_…"
         *     }
         */
        SecondFactorLogin: {
            /** @description Six digits of the authenticator app, or a recovery code. */
            code: string;
            /** @description `second_factor.token` of the answer to `POST /api/auth/login`. */
            token: string;
        };
        /** @description `GET /api/auth/second-factor`: the second factors of the caller. */
        SecondFactors: {
            passkeys: components["schemas"]["Passkey"][];
            /**
             * Format: uint64
             * @description Recovery codes that were not used yet.
             */
            recovery_codes_left: number;
            /** @description Whether a role of the caller requires a second factor. */
            required: boolean;
            /**
             * Format: date-time
             * @description When an authenticator app was set up; `null` without one.
             */
            totp_since: string | null;
        };
        SecretRotation: {
            /**
             * Format: date-time
             * @description Until when messages are also signed with the old secret.
             */
            previous_until: string;
            secret: string;
        };
        SentRequest: {
            /** @description The beginning of the body. */
            body: string;
            /**
             * Format: uint64
             * @description The length of the whole body.
             */
            body_bytes: number;
            /** @description Signatures and the values of custom headers are masked. */
            headers: components["schemas"]["HeaderField"][];
            /** @description The request line: `POST /path HTTP/1.1`. */
            line: string;
            url: string;
        };
        /** @description One server of the zone. */
        ServerRecord: {
            /**
             * @description The address that the server announces to the agents of the zone. Absent if the server
             *     announces none.
             */
            advertise_url?: string | null;
            /**
             * Format: uuid
             * @description `node_id` of the spaces whose agents are linked to this server.
             */
            id: string;
            /** @description Whether this is the server that answered the request. */
            is_this: boolean;
            /**
             * Format: uint32
             * @description Number of lanes that the server holds a lease of.
             */
            leases: number;
            /**
             * Format: uint32
             * @description Number of home links that agents have to the server.
             */
            links: number;
            /**
             * Format: date-time
             * @description Time of the last heartbeat.
             */
            seen_at: string;
            /**
             * Format: uint32
             * @description Number of links of agents whose home is another server.
             * @default 0
             */
            side_links: number;
            /** Format: date-time */
            started_at: string;
            /**
             * @description `up`, `draining` or `gone`.
             * @enum {string}
             */
            state: "up" | "draining" | "gone";
            svc_version: string;
            /** @description The server's address for agents and users. */
            url: string;
        };
        /** @description Answer of `GET /api/servers`. */
        Servers: {
            servers: components["schemas"]["ServerRecord"][];
        };
        Session: {
            address: string;
            /** Format: date-time */
            created_at: string;
            /** @description Whether this request was made with this session. */
            current: boolean;
            /** Format: date-time */
            expires_at: string;
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            last_used_at: string | null;
            user_agent: string;
        };
        Sessions: {
            next_cursor: string | null;
            sessions: components["schemas"]["Session"][];
        };
        /**
         * @description `POST /api/auth/setup`: creates the first administrator, with the one-time setup token.
         * @example {
         *       "password": "correct horse battery",
         *       "setup_token": "from the server's log"
         *     }
         */
        Setup: {
            password: string;
            setup_token: string;
            /** @default admin */
            username?: components["schemas"]["UserName"];
        };
        SharedThrough: "group" | "everyone";
        /**
         * @description `POST /api/auth/sign-in`: opens a session with a sign-in link, which `svc up` or
         *     `svc server start --sign-in-link` prints.
         * @example {
         *       "token": "svc_sgn_…"
         *     }
         */
        SignIn: {
            /** @description The fragment of the link, `svc_sgn_…`. */
            token: string;
        };
        SignInOption: {
            label: string;
            name: string;
        };
        /** @description `GET /api/auth/oidc`: the providers of the sign-in page. Needs no credential. */
        SignInOptions: {
            providers: components["schemas"]["SignInOption"][];
        };
        /** @enum {string} */
        SignatureEncoding: "hex" | "base64";
        Sink: {
            active: boolean;
            /**
             * @description Whether a person must look at the sink: the service paused it, or it does not deliver some
             *     events. `GET /api/stats` counts these sinks.
             * @default false
             */
            attention: boolean;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: uint64
             * @description How many of the newest 200 deliveries are dead and were not sent again; absent if 0.
             */
            dead?: number;
            /**
             * @description How events are delivered. Without effect for json-rpc sinks.
             * @default {
             *       "attempts": 3,
             *       "failing_after_failures": 3,
             *       "in_flight": 16,
             *       "keep_exchanges": false,
             *       "max_repeats": 8,
             *       "notify": false,
             *       "on_exhausted": "skip",
             *       "ordering": "strict",
             *       "overflow": "drop",
             *       "permanent_statuses": [],
             *       "retry_after": false
             *     }
             */
            delivery: components["schemas"]["DeliveryPolicy"];
            description: string;
            /** Format: uint64 */
            dropped: number;
            /**
             * Format: uint32
             * @description Failed attempts of the first delivery in the queue; with `ordering = "key"`, the largest
             *     number of any waiting delivery.
             * @default 0
             */
            failures: number;
            /**
             * @description The progress of these resends and replays, oldest first; absent if there are none. One of them
             *     runs at a time.
             */
            feed_progress?: components["schemas"]["FeedProgress"][];
            /**
             * Format: uint32
             * @description Number of resends and replays that have not ended. Their events enter the queue when it has
             *     room.
             * @default 0
             */
            feeds: number;
            /** @description The newest error of the filter. */
            filter_error?: string | null;
            /**
             * Format: uint64
             * @description Events for which the filter failed. They count as events that do not match.
             * @default 0
             */
            filter_errors: number;
            /**
             * @description Whether stored events wait for the sink outside its queue: because the queue was full, the
             *     sink was not active, or the filter was not evaluated yet.
             * @default false
             */
            held: boolean;
            /** Format: uuid */
            id: string;
            json_rpc: components["schemas"]["JsonRpcConfig"] | null;
            last_delivery: components["schemas"]["LastDelivery"] | null;
            /**
             * Format: uint64
             * @description Number of dropped events that were not replayed; absent if 0. A replay with
             *     `only: "undelivered"` that covers every undelivered event of the sink sets it to 0.
             */
            lost?: number;
            name: string;
            owner: components["schemas"]["SinkOwner"];
            /** Format: uuid */
            owner_id: string;
            patterns: string[];
            /** @description Why and when the service paused the sink. Absent again after a user enables the sink. */
            paused?: components["schemas"]["SinkPause"] | null;
            /**
             * Format: uint32
             * @description Events in the queue, the event in flight included. 0 for json-rpc sinks, which have no queue.
             */
            queue_depth: number;
            script: components["schemas"]["ScriptConfig"] | null;
            type: components["schemas"]["SinkType"];
            /** @description Of the three configurations, only the one for `type` is filled. */
            webhook: components["schemas"]["WebhookConfig"] | null;
        };
        /** @description Attempts of a sink in each hour. */
        SinkActivity: {
            attempts: number[];
            /** @description Attempts that did not deliver the event. */
            failed: number[];
            /** Format: uuid */
            id: string;
        };
        SinkCounts: {
            /** Format: uint64 */
            active: number;
            /**
             * Format: uint64
             * @description Events that full queues dropped, since the sinks were created.
             */
            dropped: number;
            /**
             * @description Sinks that the caller manages and that fail: the service paused the sink, a delivery is being
             *     retried, the last finished delivery is dead, or dead deliveries or dropped events were not
             *     sent again. At most 100; paused sinks come first.
             */
            failing: components["schemas"]["FailingSink"][];
            /**
             * Format: uint64
             * @description The number of all failing sinks.
             * @default 0
             */
            failing_total: number;
            /**
             * Format: uint64
             * @description Dropped events that were not replayed.
             * @default 0
             */
            lost: number;
            /**
             * Format: uint64
             * @description Sinks that the service paused, because deliveries failed.
             * @default 0
             */
            paused: number;
            /** Format: uint64 */
            queued: number;
            /** Format: uint64 */
            total: number;
        };
        /** @enum {string} */
        SinkOwner: "user" | "global";
        /**
         * @description A merge patch. Type and owner never change. `webhook`, `script`, `json_rpc` and `delivery` are
         *     merged member by member (`null` removes a member), so this type keeps their members as JSON.
         * @example {
         *       "active": false
         *     }
         */
        SinkPatch: {
            active?: boolean;
            /** @description `null` for a member restores its default. */
            delivery?: components["schemas"]["DeliveryPolicyInput"];
            description?: string;
            json_rpc?: components["schemas"]["JsonRpcConfigInput"];
            name?: components["schemas"]["Name"];
            patterns?: components["schemas"]["PatternsInput"];
            script?: components["schemas"]["ScriptConfigInput"];
            webhook?: components["schemas"]["WebhookPatch"];
        };
        /**
         * @description A pause of the sink by the service, because deliveries failed or a stored text of the sink cannot
         *     be read.
         */
        SinkPause: {
            /** Format: date-time */
            at: string;
            reason: string;
            /**
             * @description Whether a stored template or key cannot be read. A change of the configuration or of `delivery`
             *     then enables the sink again.
             */
            until_corrected?: boolean;
        };
        /** @description `GET /api/event-sinks/{id}/stats` */
        SinkStats: {
            /** @description Oldest first. The last point is not complete. */
            points: components["schemas"]["SinkStatsPoint"][];
            range: components["schemas"]["StatsRange"];
            /** Format: uuid */
            sink_id: string;
            /**
             * Format: uint64
             * @description Seconds from the start of a point to the start of the next point.
             */
            step_seconds: number;
            /** @description All attempts of the range. */
            total: components["schemas"]["SinkStatsPoint"];
        };
        /** @description Attempts to deliver events to a sink. */
        SinkStatsPoint: {
            /**
             * Format: date-time
             * @description The start of the period whose attempts are counted.
             */
            at: string;
            /** Format: uint64 */
            attempts: number;
            /**
             * Format: uint64
             * @description Attempts that did not deliver the event.
             */
            failed: number;
            /**
             * Format: double
             * @description Null without attempts.
             */
            p50_ms: number | null;
            /** Format: double */
            p95_ms: number | null;
            /** Format: double */
            p99_ms: number | null;
        };
        /** @enum {string} */
        SinkType: "webhook" | "script" | "json-rpc";
        Sinks: {
            event_sinks: components["schemas"]["Sink"][];
            next_cursor: string | null;
        };
        /**
         * @description A URL to which another service sends requests. An accepted request becomes an event
         *     `source.<name>.<type>`.
         */
        Source: {
            /**
             * Format: uint64
             * @description Requests that became events, since this server started.
             */
            accepted: number;
            active: boolean;
            /** Format: date-time */
            created_at: string;
            description: string;
            event_type: components["schemas"]["TypeRule"];
            /**
             * @description Further headers of requests that are copied into `_source` of the event's data. The usual
             *     headers of the provider, such as `X-GitHub-Event`, are always copied.
             */
            headers: string[];
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            last_accepted_at: string | null;
            last_rejection: components["schemas"]["SourceRejection"] | null;
            name: string;
            /** Format: uuid */
            owner_id: string;
            /**
             * Format: date-time
             * @description Until when requests that are signed with the old secret are accepted too.
             */
            previous_secret_until?: string | null;
            /**
             * Format: uint64
             * @description Requests that were rejected, since this server started.
             */
            rejected: number;
            /**
             * @description Present only in the answer to the request that creates the URL, because the URL contains a
             *     secret.
             */
            url?: string | null;
            verify: components["schemas"]["Verification"];
        };
        /**
         * @description A merge patch. `verify` and `event_type` are merged member by member (`null` removes a member).
         *     The type of the verification cannot be changed. Its secret is changed by `rotate`.
         * @example {
         *       "active": false
         *     }
         */
        SourcePatch: {
            active?: boolean;
            description?: string;
            event_type?: components["schemas"]["TypeRule"];
            headers?: string[];
            name?: string;
            verify?: {
                [key: string]: unknown;
            };
        };
        SourceRejection: {
            /** Format: date-time */
            at: string;
            reason: string;
        };
        /** @description A request that a source received recently. */
        SourceRequest: {
            /** @description The address of the sender. */
            address: string;
            /** Format: date-time */
            at: string;
            /** Format: uuid */
            event_id: string | null;
            event_type: string | null;
            outcome: components["schemas"]["RequestOutcome"];
            /** @description Why the request was rejected. */
            reason: string | null;
            /**
             * Format: uint16
             * @description The status of the answer.
             */
            status: number;
        };
        /**
         * @description `GET /api/sources/{id}/requests`: the last requests that the answering server received, newest
         *     first.
         */
        SourceRequests: {
            requests: components["schemas"]["SourceRequest"][];
        };
        SourceRotation: {
            /**
             * Format: date-time
             * @description Until when requests with the old secret are accepted too.
             */
            previous_until?: string | null;
            /** @description The new secret, if it was generated. */
            secret?: string | null;
            /** @description The new URL, if the request asked for one. */
            url?: string | null;
        };
        /**
         * @description `POST /api/sources/{id}/test`: signs a request as the sender would, and handles it.
         * @example {
         *       "body": {
         *         "zen": "Keep it simple"
         *       },
         *       "dry_run": true,
         *       "headers": {
         *         "X-GitHub-Event": "ping"
         *       }
         *     }
         */
        SourceTest: {
            /** @description The body of the request; `{}` if absent. */
            body?: unknown;
            /**
             * @description Show the event, but do not emit it.
             * @default false
             */
            dry_run?: boolean;
            /**
             * @description Headers in addition to those of the signature.
             * @default {}
             */
            headers?: {
                [key: string]: string;
            };
        };
        SourceTestResult: {
            accepted: boolean;
            data: unknown;
            /**
             * Format: uuid
             * @description The emitted event; `None` for a dry run or a rejected request.
             */
            event_id: string | null;
            event_type: string | null;
            /** @description Why the request was rejected. */
            reason: string | null;
        };
        Sources: {
            next_cursor: string | null;
            sources: components["schemas"]["Source"][];
        };
        Space: {
            /** @description The agent token. Present only in the answer to the space's creation. */
            agent_token?: string | null;
            /** Format: date-time */
            created_at: string;
            /**
             * @description The folder of a space with the runtime `local`, on the machine of the server: there, commands
             *     such as `svc methods register` reach its agent.
             */
            folder?: string | null;
            health: components["schemas"]["Health2"];
            health_check: components["schemas"]["HealthCheck"];
            /** Format: uuid */
            id: string;
            /**
             * @description Whether the agent is linked to this server, or to another server of the zone. If another
             *     server loses the link, this field may stay true until the end of the grace period.
             * @default false
             */
            linked: boolean;
            name: components["schemas"]["SpaceName"];
            /**
             * Format: uuid
             * @description The server that holds the link.
             */
            node_id: string | null;
            owner: components["schemas"]["UserName"];
            /** Format: uuid */
            owner_id: string;
            registration: components["schemas"]["RegistrationStatus"];
            runtime: components["schemas"]["Runtime"];
            space_urls: {
                [key: string]: string;
            };
            /** Format: uuid */
            startup_script_id: string | null;
            state: components["schemas"]["State"];
            /** @description Why the space is stopped; absent in any other state. */
            stop_reason?: components["schemas"]["StopReason"] | null;
            /**
             * Format: date-time
             * @description When the space was stopped; absent in any other state.
             */
            stopped_at?: string | null;
            /** Format: uuid */
            template_id: string | null;
        };
        /** @description Spaces by state. */
        SpaceCounts: {
            /** Format: uint64 */
            created: number;
            /** Format: uint64 */
            deployed: number;
            /**
             * @description The spaces that the caller manages and that fail: the link of a deployed space is lost, its
             *     health check fails, its registration was refused, or the service stopped the space because
             *     its link was lost. At most 100; absent if there are none.
             */
            failing?: components["schemas"]["Space"][];
            /**
             * Format: uint64
             * @description The number of all failing spaces, counted up to 1,000; absent if 0.
             */
            failing_total?: number;
            /** Format: uint64 */
            stopped: number;
        };
        /** @example notes */
        SpaceName: string;
        /**
         * @description A merge patch; `null` resets a member to its default.
         * @example {
         *       "health_check": {
         *         "port": 8080,
         *         "type": "tcp"
         *       }
         *     }
         */
        SpacePatch: {
            health_check?: components["schemas"]["HealthCheckInput"] | null;
            /** Format: uuid */
            startup_script_id?: string | null;
        };
        Spaces: {
            next_cursor: string | null;
            spaces: components["schemas"]["Space"][];
        };
        /** @enum {string} */
        State: "created" | "deployed" | "stopped" | "deleted";
        /**
         * @description Statistics of calls, spaces and sinks: those of the caller or, with `?scope=server`, of all
         *     users.
         */
        Stats: {
            /**
             * Format: uint64
             * @description Null if the scope is not `server`.
             */
            calls_in_flight: number | null;
            /**
             * Format: uint64
             * @description Counted up to 10,000.
             */
            events_last_hour: number;
            /** Format: uint */
            methods: number;
            /** @description The minutes of the last hour, oldest first. The last minute is not complete. */
            minutes: components["schemas"]["CallMinute"][];
            /**
             * Format: uint
             * @description Linked spaces that offer at least one of the counted methods.
             */
            providers: number;
            /**
             * @description `caller` or `server`.
             * @enum {string}
             */
            scope: "caller" | "server";
            /** @description Null if the scope is `caller` and the caller may not manage sinks. */
            sinks: components["schemas"]["SinkCounts"] | null;
            /** @description Null if the scope is `caller` and the caller may not use spaces. */
            spaces: components["schemas"]["SpaceCounts"] | null;
        };
        /** @enum {string} */
        StatsRange: "1h" | "24h" | "7d" | "30d";
        /** @description The scope of the statistics. */
        StatsScope: "server" | "caller";
        /** @enum {string} */
        StopReason: "requested" | "agent_stopped" | "link_lost";
        Template: {
            /** Format: date-time */
            created_at: string;
            custom_fields: {
                [key: string]: string;
            };
            health_check: components["schemas"]["HealthCheck"] | null;
            /** Format: uuid */
            id: string;
            name: string;
            ports: components["schemas"]["Port"][];
            /** Format: uuid */
            startup_script_id: string | null;
        };
        /**
         * @description A merge patch; `null` resets a member to its default, or removes a custom field.
         * @example {
         *       "ports": [
         *         {
         *           "name": "http",
         *           "port": 8081
         *         }
         *       ]
         *     }
         */
        TemplatePatch: {
            custom_fields?: {
                [key: string]: string | null;
            } | null;
            health_check?: components["schemas"]["HealthCheckInput"] | null;
            name?: components["schemas"]["Name"];
            ports?: components["schemas"]["Port"][] | null;
            /** Format: uuid */
            startup_script_id?: string | null;
        };
        Templates: {
            next_cursor: string | null;
            templates: components["schemas"]["Template"][];
        };
        Token: {
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string | null;
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            last_used_at: string | null;
            name: string;
            scopes: components["schemas"]["Scopes"];
            /** @description The secret. Present only in the answer to the token's creation. */
            token?: string | null;
        };
        Tokens: {
            next_cursor: string | null;
            tokens: components["schemas"]["Token"][];
        };
        /**
         * @description The first code of an authenticator app.
         * @example {
         *       "code": "123456"
         *     }
         */
        TotpCode: {
            code: string;
        };
        /** @description `POST /api/auth/totp`: an authenticator app that is being set up. */
        TotpEnrolment: {
            /**
             * Format: date-time
             * @description The first code must be entered before this time.
             */
            expires_at: string;
            /** @description The address as a QR code: an SVG document. */
            qr_svg: string;
            /** @description The secret to type into the app. Only this answer contains it. */
            secret: string;
            /** @description The secret as an address that authenticator apps can read: `otpauth://…`. */
            uri: string;
        };
        /**
         * @description Where the last part of an event's type comes from. At most one member may be set. If none is
         *     set, the type is read from where the provider writes it.
         */
        TypeRule: {
            /** @description The text at this path of the body, such as `event.type`. */
            body?: string | null;
            /** @description Always this text. */
            fixed?: string | null;
            /** @description The value of this header. */
            header?: string | null;
        };
        User: {
            active: boolean;
            /** Format: date-time */
            created_at: string;
            groups: string[];
            /** Format: uuid */
            id: string;
            /**
             * Format: date-time
             * @description When the user last used a session, a token or a connected app; exact to a minute. Null if never,
             *     and in the answers to a setup and to a login.
             * @default null
             */
            last_seen_at: string | null;
            /**
             * @description Quotas that an administrator set for this user. For all other quotas the server's values
             *     apply.
             * @default {}
             */
            quotas: {
                [key: string]: number;
            };
            roles: string[];
            /**
             * @description Whether a login with the password also needs a second factor.
             * @default false
             */
            second_factor: boolean;
            username: components["schemas"]["UserName"];
        };
        UserAccess: {
            /** @description An inactive user may do nothing. */
            active: boolean;
            groups: string[];
            /** @description Methods of other users that the user sees. */
            methods: components["schemas"]["AccessibleMethod"][];
            /**
             * Format: uint
             * @description Number of the user's own methods. Their names are private.
             */
            own_methods: number;
            /** @description All permissions that exist, held or not. */
            permissions: components["schemas"]["HeldPermission"][];
            roles: string[];
            /** Format: uuid */
            user_id: string;
            username: components["schemas"]["UserName"];
        };
        /** @example ann */
        UserName: string;
        /**
         * @description A merge patch: fields that are absent keep their values.
         * @example {
         *       "groups": [
         *         "ops",
         *         "dev"
         *       ],
         *       "quotas": {
         *         "sinks": 200
         *       }
         *     }
         */
        UserPatch: {
            active?: boolean;
            groups?: string[];
            password?: string;
            /** @description Only the named quotas change; `null` resets a quota to the server's value. */
            quotas?: {
                [key: string]: number | null;
            };
            roles?: string[];
        };
        Users: {
            next_cursor: string | null;
            users: components["schemas"]["User"][];
        };
        /**
         * @description How a source verifies its requests. All members except `type`, `secret`, `tolerance_seconds` and
         *     `deduplicate` are for the type `hmac`. `Debug` leaves out the secret, so that the secret is never logged.
         */
        Verification: {
            /** @description `sha256` if absent. */
            algorithm?: components["schemas"]["HmacAlgorithm"] | null;
            /**
             * @description `body` if absent. Only for senders that sign the body alone: `github`, `gitlab`, `shopify`, and
             *     `hmac` without `timestamp_header` and `id_header`.
             */
            deduplicate?: components["schemas"]["Deduplicate"] | null;
            /** @description `hex` if absent. */
            encoding?: components["schemas"]["SignatureEncoding"] | null;
            /** @description The header of the signature. */
            header?: string | null;
            /** @description The header of `{id}`, the sender's id of the delivery. */
            id_header?: string | null;
            /** @description Text before the signature in its header, such as `sha256=`. */
            prefix?: string | null;
            /**
             * @description Present only in a request that sets the secret, and in the answer to a request that sets or
             *     generates it. Not stored in this field.
             */
            secret?: string | null;
            /**
             * @description The signed text; `{body}` if absent. It ends with `{body}`, which occurs once. It contains
             *     `{timestamp}` once if `timestamp_header` is set, and `{id}` once if `id_header` is set.
             */
            signed?: string | null;
            /** @description The header of `{timestamp}`: seconds since 1970. */
            timestamp_header?: string | null;
            /**
             * Format: uint32
             * @description How far the signed time may be from the server's clock; 300 if absent.
             */
            tolerance_seconds?: number | null;
            type: components["schemas"]["VerifyType"];
        };
        /** @enum {string} */
        VerifyType: "github" | "gitlab" | "stripe" | "slack" | "shopify" | "standard" | "hmac" | "basic" | "none";
        WebhookConfig: {
            body_template: string | null;
            /**
             * @description The only certificate authorities that are trusted for the receiver, as PEM. If absent, those of
             *     the server's machine.
             */
            ca?: string | null;
            /** @description The certificate that is shown to the receiver, with its chain, as PEM. */
            client_certificate?: string | null;
            /** @description The key of `client_certificate`, as PEM. Write-only: shown as `********`. */
            client_key?: string | null;
            /** @description How the event is written into the request. */
            format?: components["schemas"]["WebhookFormat"];
            /** @default {} */
            headers: {
                [key: string]: string;
            };
            /** @description Whether HTTP/2 is offered to an `https` receiver. */
            http2?: boolean;
            /**
             * @description `whsec_…`: given or generated at creation. Shown only in the answers to creation, to rotation
             *     and to a change of the origin of `url`.
             */
            secret?: string | null;
            url: string;
        };
        WebhookConfigInput: {
            body_template?: string | null;
            /**
             * @description The only certificate authorities that are trusted for the receiver, as PEM. If absent, those of
             *     the server's machine.
             */
            ca?: string | null;
            /** @description The certificate that is shown to the receiver, with its chain, as PEM. */
            client_certificate?: string | null;
            /** @description The key of `client_certificate`, as PEM. Write-only: shown as `********`. */
            client_key?: string | null;
            /** @description How the event is written into the request. */
            format?: components["schemas"]["WebhookFormat"];
            /** @default {} */
            headers?: {
                [key: string]: string;
            };
            /** @description Whether HTTP/2 is offered to an `https` receiver. */
            http2?: boolean;
            /**
             * @description `whsec_…`: given or generated at creation. Shown only in the answers to creation, to rotation
             *     and to a change of the origin of `url`.
             */
            secret?: string | null;
            url: string;
        };
        /** @description How a webhook writes an event into its request. */
        WebhookFormat: "default" | "cloudevents-structured" | "cloudevents-binary";
        /**
         * @description A merge patch of a webhook's configuration. If `url` gets another origin (scheme, host or port),
         *     every stored secret must be given again or removed: header values, `ca`, `client_certificate`,
         *     `client_key` and `secret`. This type exists only for its schema.
         */
        WebhookPatch: {
            body_template?: string | null;
            ca?: string | null;
            client_certificate?: string | null;
            client_key?: string | null;
            format?: components["schemas"]["WebhookFormat"] | null;
            /**
             * @description `null` in place of a value removes the header; `null` in place of the object removes all
             *     headers.
             */
            headers?: {
                [key: string]: string | null;
            } | null;
            http2?: boolean | null;
            /** @description Only together with another origin of `url`; `null` makes a new secret. */
            secret?: string | null;
            url?: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type AccessibleMethod = components['schemas']['AccessibleMethod'];
export type Activity = components['schemas']['Activity'];
export type Actor = components['schemas']['Actor'];
export type ActorKind = components['schemas']['ActorKind'];
export type AgentToken = components['schemas']['AgentToken'];
export type Annotations = components['schemas']['Annotations'];
export type AnnotationsPatch = components['schemas']['AnnotationsPatch'];
export type App = components['schemas']['App'];
export type AppPatch = components['schemas']['AppPatch'];
export type AppSummary = components['schemas']['AppSummary'];
export type Apps = components['schemas']['Apps'];
export type Attempt = components['schemas']['Attempt'];
export type Audit = components['schemas']['Audit'];
export type AuditEntry = components['schemas']['AuditEntry'];
export type AuthState = components['schemas']['AuthState'];
export type Backtest = components['schemas']['Backtest'];
export type BacktestCounts = components['schemas']['BacktestCounts'];
export type BacktestDifference = components['schemas']['BacktestDifference'];
export type BacktestError = components['schemas']['BacktestError'];
export type BacktestResult = components['schemas']['BacktestResult'];
export type Call = components['schemas']['Call'];
export type CallBody = components['schemas']['CallBody'];
export type CallCredential = components['schemas']['CallCredential'];
export type CallCredentialKind = components['schemas']['CallCredentialKind'];
export type CallDetail = components['schemas']['CallDetail'];
export type CallEnd = components['schemas']['CallEnd'];
export type CallGroup = components['schemas']['CallGroup'];
export type CallGrouping = components['schemas']['CallGrouping'];
export type CallMinute = components['schemas']['CallMinute'];
export type CallResult = components['schemas']['CallResult'];
export type CallSummary = components['schemas']['CallSummary'];
export type CallTotals = components['schemas']['CallTotals'];
export type CallVia = components['schemas']['CallVia'];
export type Calls = components['schemas']['Calls'];
export type ChangePassword = components['schemas']['ChangePassword'];
export type Check = components['schemas']['Check'];
export type CheckScript = components['schemas']['CheckScript'];
export type CheckStatus = components['schemas']['CheckStatus'];
export type ClaimMapping = components['schemas']['ClaimMapping'];
export type ClientKind = components['schemas']['ClientKind'];
export type Consent = components['schemas']['Consent'];
export type CreatedPasskey = components['schemas']['CreatedPasskey'];
export type Decision = components['schemas']['Decision'];
export type DecisionResult = components['schemas']['DecisionResult'];
export type Deduplicate = components['schemas']['Deduplicate'];
export type Deliveries = components['schemas']['Deliveries'];
export type Delivery = components['schemas']['Delivery'];
export type DeliveryPolicy = components['schemas']['DeliveryPolicy'];
export type DeliveryPolicyInput = components['schemas']['DeliveryPolicyInput'];
export type DeliveryState = components['schemas']['DeliveryState'];
export type DeviceLogin = components['schemas']['DeviceLogin'];
export type Diagnostics = components['schemas']['Diagnostics'];
export type Emit = components['schemas']['Emit'];
export type EmittedEvent = components['schemas']['EmittedEvent'];
export type EventDeliveries = components['schemas']['EventDeliveries'];
export type EventDelivery = components['schemas']['EventDelivery'];
export type EventDeliveryState = components['schemas']['EventDeliveryState'];
export type EventHistogram = components['schemas']['EventHistogram'];
export type EventKey = components['schemas']['EventKey'];
export type EventReceiver = components['schemas']['EventReceiver'];
export type EventRecord = components['schemas']['EventRecord'];
export type Events = components['schemas']['Events'];
export type Exchange = components['schemas']['Exchange'];
export type ExchangeTiming = components['schemas']['ExchangeTiming'];
export type Exponential = components['schemas']['Exponential'];
export type ExponentialInput = components['schemas']['ExponentialInput'];
export type FactorKind = components['schemas']['FactorKind'];
export type FailingSink = components['schemas']['FailingSink'];
export type FeedKind = components['schemas']['FeedKind'];
export type FeedProgress = components['schemas']['FeedProgress'];
export type FilterDecision = components['schemas']['FilterDecision'];
export type Grant = components['schemas']['Grant'];
export type Grants = components['schemas']['Grants'];
export type Group = components['schemas']['Group'];
export type GroupBody = components['schemas']['GroupBody'];
export type GroupMethod = components['schemas']['GroupMethod'];
export type GroupMethods = components['schemas']['GroupMethods'];
export type GroupPatch = components['schemas']['GroupPatch'];
export type Groups = components['schemas']['Groups'];
export type HeaderField = components['schemas']['HeaderField'];
export type Health = components['schemas']['Health'];
export type Health2 = components['schemas']['Health2'];
export type HealthCheck = components['schemas']['HealthCheck'];
export type HealthCheckInput = components['schemas']['HealthCheckInput'];
export type HeldPermission = components['schemas']['HeldPermission'];
export type HmacAlgorithm = components['schemas']['HmacAlgorithm'];
export type IdentityProof = components['schemas']['IdentityProof'];
export type JournalLevel = components['schemas']['JournalLevel'];
export type JsonRpcConfig = components['schemas']['JsonRpcConfig'];
export type JsonRpcConfigInput = components['schemas']['JsonRpcConfigInput'];
export type JsonRpcError = components['schemas']['JsonRpcError'];
export type JsonRpcRequest = components['schemas']['JsonRpcRequest'];
export type JsonRpcResponse = components['schemas']['JsonRpcResponse'];
export type LastDelivery = components['schemas']['LastDelivery'];
export type LinkStarted = components['schemas']['LinkStarted'];
export type LinkedIdentities = components['schemas']['LinkedIdentities'];
export type LinkedIdentity = components['schemas']['LinkedIdentity'];
export type LogLevel = components['schemas']['LogLevel'];
export type LogSource = components['schemas']['LogSource'];
export type Login = components['schemas']['Login'];
export type LoginResult = components['schemas']['LoginResult'];
export type Logs = components['schemas']['Logs'];
export type McpBody = components['schemas']['McpBody'];
export type McpResponse = components['schemas']['McpResponse'];
export type McpResult = components['schemas']['McpResult'];
export type Me = components['schemas']['Me'];
export type Method = components['schemas']['Method'];
export type MethodActivity = components['schemas']['MethodActivity'];
export type MethodScope = components['schemas']['MethodScope'];
export type MethodStats = components['schemas']['MethodStats'];
export type MethodStatsPoint = components['schemas']['MethodStatsPoint'];
export type Methods = components['schemas']['Methods'];
export type MissedPolicy = components['schemas']['MissedPolicy'];
export type Name = components['schemas']['Name'];
export type NewApp = components['schemas']['NewApp'];
export type NewOidcProvider = components['schemas']['NewOidcProvider'];
export type NewPasskey = components['schemas']['NewPasskey'];
export type NewRole = components['schemas']['NewRole'];
export type NewSchedule = components['schemas']['NewSchedule'];
export type NewScript = components['schemas']['NewScript'];
export type NewSink = components['schemas']['NewSink'];
export type NewSource = components['schemas']['NewSource'];
export type NewSpace = components['schemas']['NewSpace'];
export type NewTemplate = components['schemas']['NewTemplate'];
export type NewToken = components['schemas']['NewToken'];
export type NewUser = components['schemas']['NewUser'];
export type NextRuns = components['schemas']['NextRuns'];
export type NumberedLine = components['schemas']['NumberedLine'];
export type OAuthScope = components['schemas']['OAuthScope'];
export type OAuthScopes = components['schemas']['OAuthScopes'];
export type OidcCheck = components['schemas']['OidcCheck'];
export type OidcCheckStep = components['schemas']['OidcCheckStep'];
export type OidcProvider = components['schemas']['OidcProvider'];
export type OidcProviderPatch = components['schemas']['OidcProviderPatch'];
export type OidcProviders = components['schemas']['OidcProviders'];
export type OnExhausted = components['schemas']['OnExhausted'];
export type Ordering = components['schemas']['Ordering'];
export type OtherCallGroups = components['schemas']['OtherCallGroups'];
export type Overflow = components['schemas']['Overflow'];
export type Passkey = components['schemas']['Passkey'];
export type PasskeyChallenge = components['schemas']['PasskeyChallenge'];
export type PasskeyCreation = components['schemas']['PasskeyCreation'];
export type PasskeyLogin = components['schemas']['PasskeyLogin'];
export type PasskeyPatch = components['schemas']['PasskeyPatch'];
export type PasskeyRequest = components['schemas']['PasskeyRequest'];
export type PasswordProof = components['schemas']['PasswordProof'];
export type PatternsInput = components['schemas']['PatternsInput'];
export type PayloadOmission = components['schemas']['PayloadOmission'];
export type PendingLogin = components['schemas']['PendingLogin'];
export type Permission = components['schemas']['Permission'];
export type PermissionList = components['schemas']['PermissionList'];
export type Port = components['schemas']['Port'];
export type Preview = components['schemas']['Preview'];
export type PreviewResult = components['schemas']['PreviewResult'];
export type Problem = components['schemas']['Problem'];
export type Provider = components['schemas']['Provider'];
export type Quota = components['schemas']['Quota'];
export type QuotaUse = components['schemas']['QuotaUse'];
export type QuotaUses = components['schemas']['QuotaUses'];
export type Quotas = components['schemas']['Quotas'];
export type Readiness = components['schemas']['Readiness'];
export type RecoveryCodes = components['schemas']['RecoveryCodes'];
export type RegistrationStatus = components['schemas']['RegistrationStatus'];
export type Replay = components['schemas']['Replay'];
export type ReplayOnly = components['schemas']['ReplayOnly'];
export type ReplayResult = components['schemas']['ReplayResult'];
export type RequestOutcome = components['schemas']['RequestOutcome'];
export type Resend = components['schemas']['Resend'];
export type ResendResult = components['schemas']['ResendResult'];
export type ResponseHead = components['schemas']['ResponseHead'];
export type Retry = components['schemas']['Retry'];
export type RetryInput = components['schemas']['RetryInput'];
export type Role = components['schemas']['Role'];
export type RolePatch = components['schemas']['RolePatch'];
export type Roles = components['schemas']['Roles'];
export type RotateSecret = components['schemas']['RotateSecret'];
export type RotateSource = components['schemas']['RotateSource'];
export type RunNewScript = components['schemas']['RunNewScript'];
export type RunScript = components['schemas']['RunScript'];
export type Runtime = components['schemas']['Runtime'];
export type Schedule = components['schemas']['Schedule'];
export type SchedulePatch = components['schemas']['SchedulePatch'];
export type Schedules = components['schemas']['Schedules'];
export type Scope = components['schemas']['Scope'];
export type Scopes = components['schemas']['Scopes'];
export type Script = components['schemas']['Script'];
export type ScriptCheck = components['schemas']['ScriptCheck'];
export type ScriptConfig = components['schemas']['ScriptConfig'];
export type ScriptConfigInput = components['schemas']['ScriptConfigInput'];
export type ScriptFault = components['schemas']['ScriptFault'];
export type ScriptKind = components['schemas']['ScriptKind'];
export type ScriptOwner = components['schemas']['ScriptOwner'];
export type ScriptPatch = components['schemas']['ScriptPatch'];
export type ScriptRunResult = components['schemas']['ScriptRunResult'];
export type Scripts = components['schemas']['Scripts'];
export type SecondFactorLogin = components['schemas']['SecondFactorLogin'];
export type SecondFactors = components['schemas']['SecondFactors'];
export type SecretRotation = components['schemas']['SecretRotation'];
export type SentRequest = components['schemas']['SentRequest'];
export type ServerRecord = components['schemas']['ServerRecord'];
export type Servers = components['schemas']['Servers'];
export type Session = components['schemas']['Session'];
export type Sessions = components['schemas']['Sessions'];
export type Setup = components['schemas']['Setup'];
export type SharedThrough = components['schemas']['SharedThrough'];
export type SignIn = components['schemas']['SignIn'];
export type SignInOption = components['schemas']['SignInOption'];
export type SignInOptions = components['schemas']['SignInOptions'];
export type SignatureEncoding = components['schemas']['SignatureEncoding'];
export type Sink = components['schemas']['Sink'];
export type SinkActivity = components['schemas']['SinkActivity'];
export type SinkCounts = components['schemas']['SinkCounts'];
export type SinkOwner = components['schemas']['SinkOwner'];
export type SinkPatch = components['schemas']['SinkPatch'];
export type SinkPause = components['schemas']['SinkPause'];
export type SinkStats = components['schemas']['SinkStats'];
export type SinkStatsPoint = components['schemas']['SinkStatsPoint'];
export type SinkType = components['schemas']['SinkType'];
export type Sinks = components['schemas']['Sinks'];
export type Source = components['schemas']['Source'];
export type SourcePatch = components['schemas']['SourcePatch'];
export type SourceRejection = components['schemas']['SourceRejection'];
export type SourceRequest = components['schemas']['SourceRequest'];
export type SourceRequests = components['schemas']['SourceRequests'];
export type SourceRotation = components['schemas']['SourceRotation'];
export type SourceTest = components['schemas']['SourceTest'];
export type SourceTestResult = components['schemas']['SourceTestResult'];
export type Sources = components['schemas']['Sources'];
export type Space = components['schemas']['Space'];
export type SpaceCounts = components['schemas']['SpaceCounts'];
export type SpaceName = components['schemas']['SpaceName'];
export type SpacePatch = components['schemas']['SpacePatch'];
export type Spaces = components['schemas']['Spaces'];
export type State = components['schemas']['State'];
export type Stats = components['schemas']['Stats'];
export type StatsRange = components['schemas']['StatsRange'];
export type StatsScope = components['schemas']['StatsScope'];
export type StopReason = components['schemas']['StopReason'];
export type Template = components['schemas']['Template'];
export type TemplatePatch = components['schemas']['TemplatePatch'];
export type Templates = components['schemas']['Templates'];
export type Token = components['schemas']['Token'];
export type Tokens = components['schemas']['Tokens'];
export type TotpCode = components['schemas']['TotpCode'];
export type TotpEnrolment = components['schemas']['TotpEnrolment'];
export type TypeRule = components['schemas']['TypeRule'];
export type User = components['schemas']['User'];
export type UserAccess = components['schemas']['UserAccess'];
export type UserName = components['schemas']['UserName'];
export type UserPatch = components['schemas']['UserPatch'];
export type Users = components['schemas']['Users'];
export type Verification = components['schemas']['Verification'];
export type VerifyType = components['schemas']['VerifyType'];
export type WebhookConfig = components['schemas']['WebhookConfig'];
export type WebhookConfigInput = components['schemas']['WebhookConfigInput'];
export type WebhookFormat = components['schemas']['WebhookFormat'];
export type WebhookPatch = components['schemas']['WebhookPatch'];
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
