/** Whether the text of a value is that of the service: exactly, or unless `isText`, the same number, time or boolean. */
export function isSame(wanted: string | null, found: string | null, isText: boolean): boolean {
  if (wanted === found) return true;
  if (wanted === null || found === null || isText) return false;
  return canonical(wanted) === canonical(found);
}

function canonical(text: string): string {
  const number = /^(-?)0*(\d+?)(?:\.(\d*?)0*)?$/.exec(text);
  if (number !== null) {
    const [, sign, whole, fraction = ''] = number;
    return `${/[1-9]/.test(whole! + fraction) ? sign : ''}${whole}.${fraction}`;
  }
  const time = TIME.exec(text);
  if (time === null) return text;
  const [, date, clock, fraction = '', zone = 'Z'] = time;
  const offset = zone === ' UTC' ? 'Z' : zone.replace(/^([+-]\d\d)$/, '$1:00');
  const seconds = new Date(`${date}T${clock}${offset}`).toISOString().slice(0, 19);
  return `time ${seconds}.${fraction.replace(/0+$/, '')}`;
}

const TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d+))?(Z| UTC|[+-]\d\d(?::\d\d)?)?$/;

/** A time with at most three digits after the second, as Trino rounds it; other texts unchanged. */
export function roundedToMillis(text: string | null): string | null {
  const found = text === null ? null : TIME.exec(text);
  if (!found || (found[3] ?? '').length <= 3) return text;
  const [, date, clock, fraction, zone = 'Z'] = found;
  const millis = Math.round(Number(`0.${fraction}`) * 1000);
  return `${date}T${clock}.${String(millis).padStart(3, '0')}${zone}`;
}
