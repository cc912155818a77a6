/** Settings of one resource that follow from what the service does. */
export interface ResourceSuggestions {
  readonly fetchById?: boolean;
  readonly windowField?: string;
}

/** Settings of a connection that follow from what the service does. Empty: nothing needs to change. */
export interface Suggestions {
  readonly sync: { readonly pageSize?: number; readonly overlap?: string };
  /** By the name of the resource. */
  readonly resources: Readonly<Record<string, ResourceSuggestions>>;
}

/** Whether nothing needs to change. */
export function isEmpty({ sync, resources }: Suggestions): boolean {
  return Object.keys(sync).length === 0 && Object.keys(resources).length === 0;
}
