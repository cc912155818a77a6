/** Where and how long files are processed. */
export interface EngineScope {
  /** Folder for the temporary files; `null` or absent: that of the system. */
  readonly tempFolder?: string | null | undefined;
  readonly signal?: AbortSignal | undefined;
}
