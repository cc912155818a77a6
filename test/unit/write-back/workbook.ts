import { strToU8, zipSync } from 'fflate';

/**
 * A workbook with sheets of these rows, in the form that few programs write.
 *
 * @param replace changes the text of a part
 */
export function workbook(
  sheets: Readonly<Record<string, string>>,
  strings = '',
  more = '',
  replace: (text: string, part: string) => string = (part) => part,
): Buffer {
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  const relations = (links: readonly string[]) =>
    `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${links.join('')}</Relationships>`;
  const link = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${type}" Target="${target}"/>`;
  const names = Object.keys(sheets);
  const listed = names.map((name, at) => `<x:sheet name="${name}" sheetId="${at + 1}" r:id="s${at}"/>`);
  const parts: Record<string, string> = {
    '_rels/.rels': relations([link('w', 'officeDocument', '/book/main.xml')]),
    'book/main.xml': `<x:workbook xmlns:x="${main}" xmlns:r="urn:r"><x:workbookPr/><x:sheets>${listed.join('')}</x:sheets></x:workbook>`,
    'book/_rels/main.xml.rels': relations([
      ...names.map((_, at) => link(`s${at}`, 'worksheet', `sheets/${at}.xml`)),
      link('st', 'styles', 'styles.xml'),
      link('ss', 'sharedStrings', 'strings.xml'),
    ]),
    'book/styles.xml': `<styleSheet xmlns="${main}"><numFmts><numFmt numFmtId="164" formatCode="dd.mm.yyyy\\ hh:mm"/></numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="46"/></cellXfs></styleSheet>`,
    'book/strings.xml': `<sst xmlns="${main}">${strings}</sst>`,
  };
  Object.values(sheets).forEach((rows, at) => {
    parts[`book/sheets/${at}.xml`] =
      `<worksheet xmlns="${main}"><sheetData>${rows}</sheetData>${more}</worksheet>`;
  });
  const bytes = Object.entries(parts).map(([name, text]) => [name, strToU8(replace(text, name))] as const);
  return Buffer.from(zipSync(Object.fromEntries(bytes)));
}

export const text = (value: string): string => `<c t="inlineStr"><is><t>${value}</t></is></c>`;
export const number = (value: string, style = 0): string => `<c s="${style}"><v>${value}</v></c>`;
export const row = (at: number, ...cells: string[]): string => `<row r="${at}">${cells.join('')}</row>`;
