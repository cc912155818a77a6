interface Edge {
  readonly from: string;
  readonly to: string;
}
export declare function readSources(revision?: string): Map<string, string>;
export declare function importEdges(sources: ReadonlyMap<string, string>): Edge[];
export declare function findCycles(edges: readonly Edge[]): string[][];
export declare function findFolderCycles(edges: readonly Edge[]): string[][];
export declare function singleImporters(sources: ReadonlyMap<string, string>): {
  readonly file: string;
  readonly importer: string;
  readonly lines: number;
  readonly isLazy: boolean;
}[];
export declare function repeatedNames(sources: ReadonlyMap<string, string>): Map<string, string[]>;
