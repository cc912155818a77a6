import type { ObjectKey } from '../../core/brands.js';
import type { CheckSettings, DeletePolicy, LakeSettings, ResourceSettings } from '../../core/settings.js';
import { viewName } from '../../core/view-name.js';
import { folderOf, pointerKey } from '../../lake/documents/lake-layout.js';
import { addLineBreaks, type Manifest } from '../../lake/documents/manifest.js';
import type { Pointer } from '../../lake/documents/pointer.js';
import type { PublishedSnapshot } from '../../lake/published/read-published.js';
import { maskedColumns } from '../../lake/rows/profile.js';
import type { Numbers } from './column-kinds.js';
import type { Engine, TableSource } from './engine-views.js';

/** A published resource, as statements describe it. */
export interface PublishedResource {
  readonly lake: LakeSettings;
  readonly resource: string;
  /** Name of the views without a suffix, before it is made plain. Default: the resource. */
  readonly view?: string | undefined;
  readonly pointer: Pointer;
  /** Manifest of the snapshot in the pointer. */
  readonly manifest: Manifest;
  /** Columns that the configuration masks. They have type text, whatever types were seen before. */
  readonly masked?: readonly string[] | undefined;
  /** Default: `exact`. */
  readonly numbers?: Numbers | undefined;
  /** What happens to rows that are gone from the service. Default: `mark`. */
  readonly deletes?: DeletePolicy | undefined;
  /** What must hold before a run is published. Default: nothing. */
  readonly checks?: readonly CheckSettings[] | undefined;
}

/** What statements need of a resource, without its lake. */
export function publishedResource(
  settings: ResourceSettings,
  { resource, pointer, manifest }: PublishedSnapshot,
): Omit<PublishedResource, 'lake' | 'numbers'> {
  const names = manifest.columns.map(({ name }) => name);
  // The change log spans runs whose masks may differ, so a column that is masked now or was masked then is text.
  const masked = [
    ...maskedColumns({ ...manifest, columns: manifest.selection }, names),
    ...maskedColumns(settings, names),
  ];
  return { resource, pointer, manifest, masked, deletes: settings.deletes, checks: settings.checks };
}

/** Statements that list more parts would be unreadable, and too long for some engines. */
const MAX_LISTED_PARTS = 500;

/** The snapshot of one run. @param snapshot key of its `_datapackage.json` */
export function runSource(
  input: PublishedResource,
  view: Pick<TableSource, 'name' | 'about'>,
  { snapshot, manifest }: { readonly snapshot: ObjectKey; readonly manifest: Manifest },
): TableSource {
  const { lake, resource } = input;
  return {
    ...{ lake, resource },
    ...view,
    pointer: pointerKey(resource),
    masked: new Set(input.masked ?? []),
    numbers: input.numbers ?? 'exact',
    deletes: input.deletes ?? 'mark',
    logName: logView(input).name,
    folder: folderOf(snapshot),
    shape: 'run',
    ...(manifest.parts.length <= MAX_LISTED_PARTS ? { parts: manifest.parts.map(({ key }) => key) } : {}),
    ...{ columns: manifest.columns, key: manifest.key, csv: manifest.csv },
    lineBreaks: addLineBreaks(0, manifest.parts),
  };
}

/** The change logs of all published runs, or the newest row of each key in these. */
export function logSource(input: PublishedResource, shape: 'log' | 'newest'): TableSource {
  const { resource, pointer, manifest } = input;
  const about = `${resource} as of the last published run, from the change logs`;
  const view = shape === 'log' ? logView(input) : { name: `${baseName(input)}_newest`, about };
  const { parts: _, ...source } = runSource(input, view, { snapshot: pointer.snapshot, manifest });
  return {
    ...source,
    folder: `${resource}/changes` as ObjectKey,
    shape,
    lineBreaks: manifest.changesLineBreaks,
  };
}

/** Name of the views without a suffix. */
export function baseName({ resource, view = resource }: PublishedResource): string {
  return viewName(view);
}

function logView(input: PublishedResource): Pick<TableSource, 'name' | 'about'> {
  const about = `New, changed and deleted rows of each run of ${input.resource}`;
  return { name: `${baseName(input)}_changes`, about };
}

/** Checks that an engine can read the line breaks inside cells of a source. @throws RangeError if it cannot */
export function checkLineBreaks({ splitsAtLineBreaks: reader }: Engine, source: TableSource): void {
  const { lineBreaks, csv, name, resource } = source;
  if (reader === undefined || lineBreaks === 0) return;
  const remedy =
    csv.lineBreaks === 'escape'
      ? 'Earlier runs wrote them. A new lake URL starts with escaped change logs'
      : `Set \`csv: { lineBreaks: escape }\` for ${resource}, and export again`;
  throw new RangeError(
    `${name}: its files have ${lineBreaks} line ${lineBreaks === 1 ? 'break' : 'breaks'} inside cells, and ${reader} takes each for the end of a row. ${remedy}`,
  );
}
