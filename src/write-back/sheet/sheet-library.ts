import { ConfigurationError, errorMessage } from '../../core/errors.js';

/** The command that installs the optional packages in tested versions. */
const INSTALL = 'npm install fflate@~0.8.3 saxes@^6.0.0';

/**
 * The packages that unpack workbooks and read their XML. read-excel-file (9.3.17), which is made of such packages, takes a cell with
 * an error such as #N/A, and a formula without a result, for an empty cell, so that a row would be sent without the field.
 */
export interface SheetLibrary {
  readonly zip: typeof import('fflate');
  readonly xml: typeof import('saxes');
}

/**
 * Loads the packages. Only workbooks need them, so they are optional.
 *
 * @throws ConfigurationError if they are not installed
 */
export async function sheetLibrary(): Promise<SheetLibrary> {
  try {
    const [zip, xml] = await Promise.all([import('fflate'), import('saxes')]);
    return { zip, xml };
  } catch (cause) {
    const [why] = errorMessage(cause).split('\n');
    throw new ConfigurationError(`cannot load the packages that read workbooks (.xlsx): ${why}.`, {
      remedy: `Install them next to temporal-worktrack: ${INSTALL}. Or save the sheet as CSV UTF-8.`,
      cause,
    });
  }
}
