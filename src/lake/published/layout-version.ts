import type { ObjectKey } from '../../core/brands.js';
import { WorktrackError } from '../../core/errors.js';

/** Version of the lake's layout, recorded in every manifest and pointer. */
export const LAYOUT_VERSION = 2;

/** The lake has a layout that this version neither reads nor writes. Nothing in the lake has been changed. */
export class LakeLayoutError extends WorktrackError {
  readonly code = 'LAKE_LAYOUT';
}

/**
 * Checks the layout version of a document.
 *
 * @param at the document, as shown to a person
 * @param layout its field `layout`; pointers of layout 1 have none
 * @throws LakeLayoutError
 */
export function checkLayout(at: ObjectKey | string, layout: unknown): void {
  if (layout === LAYOUT_VERSION) return;
  const isLater = typeof layout === 'number' && layout > LAYOUT_VERSION;
  const found = typeof layout === 'number' ? `layout ${layout}` : 'an earlier layout';
  throw new LakeLayoutError(
    `${at} has ${found} of the lake, and this version of worktrack reads layout ${LAYOUT_VERSION}. Nothing was changed.`,
    {
      remedy: isLater
        ? 'Upgrade worktrack.'
        : 'Use the version that wrote the lake, or set a new `lake.url` to start with an empty lake (docs/how-to/upgrade.md).',
    },
  );
}
