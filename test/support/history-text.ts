/** A history's text with its payloads decoded. */
export function historyText(history: object): string {
  return JSON.stringify(history, (_, value) => {
    if (value instanceof Uint8Array || value?.type === 'Buffer')
      return Buffer.from(value.data ?? value).toString('latin1');
    return value;
  });
}
