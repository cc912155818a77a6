/** The name of the view of a resource, which needs no quotes in any dialect: `time-entries` becomes `time_entries`. */
export function viewName(resource: string): string {
  const plain = resource.toLowerCase().replace(/[^a-z0-9_]/g, '_');
  return /^[a-z_]/.test(plain) ? plain : `_${plain}`;
}
