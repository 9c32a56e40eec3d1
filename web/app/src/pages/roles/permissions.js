/**
 * The description of each permission. For a permission without a description, the pages show only the name.
 * @type {Record<string, string>}
 */
export const MEANING = {
  use_spaces: 'Own spaces, and emitting events',
  manage_spaces: 'Everyone’s spaces, and spaces that run on the server',
  use_methods: 'Call shared methods of others; not needed for own methods',
  use_mcp: 'The MCP endpoint',
  manage_own_event_sinks: 'Own event sinks',
  manage_global_event_sinks: 'Global event sinks; includes own sinks',
  manage_scripts: 'Change global scripts; not needed for own scripts',
  manage_templates: 'Templates for new spaces',
  manage_users: 'Users: create, change, delete, set passwords',
  manage_groups: 'Groups: create, rename, delete',
  manage_roles: 'Roles and their permissions',
  view_audit: 'The audit log, everyone’s events, server statistics',
};
