/**
 * Thrift's compact protocol (https://thrift.apache.org), without maps, which the
 * footer of a Parquet file does not have. Unknown fields are kept.
 */

/** Fields by their number. */
export type Struct = ReadonlyMap<number, Field>;
export interface Field {
  /** Of the value in the protocol. */
  readonly type: number;
  readonly value: Value;
}
export interface List {
  /** Of the items. */
  readonly type: number;
  readonly items: readonly Value[];
}
/** A double is its bytes. */
export type Value = boolean | number | Buffer | List | Struct;

/** Types of the protocol. */
export const TYPE = { I32: 5, I64: 6, BINARY: 8, LIST: 9, STRUCT: 12 } as const;
const { I32, I64, BINARY, LIST, STRUCT } = TYPE;
const [TRUE, FALSE, BYTE, I16, DOUBLE, SET] = [1, 2, 3, 4, 7, 10];
/** A short list has its length in the byte of its type. */
const LONG_LIST = 15;

/** @throws RangeError if the bytes are not a struct, or have a number beyond 53 bits */
export function decodeStruct(bytes: Buffer): Struct {
  return new Reader(bytes).struct();
}

export function encodeStruct(struct: Struct): Buffer {
  const writer = new Writer();
  writer.struct(struct);
  return writer.bytes();
}

class Reader {
  #at = 0;

  constructor(private readonly bytes: Buffer) {}

  struct(): Struct {
    const fields = new Map<number, Field>();
    for (let id = 0; ; ) {
      const head = this.#byte();
      if (head === 0) return fields;
      const type = head & 0x0f;
      id = head >> 4 === 0 ? this.#int() : id + (head >> 4);
      // A boolean is in its type.
      const isFlag = type === TRUE || type === FALSE;
      fields.set(id, { type, value: isFlag ? type === TRUE : this.#value(type) });
    }
  }

  /** An item of a list, or a field. */
  #value(type: number): Value {
    switch (type) {
      case TRUE:
      case FALSE:
        return this.#byte() === TRUE;
      case BYTE:
        return this.#byte();
      case I16:
      case I32:
      case I64:
        return this.#int();
      case DOUBLE:
        return this.#take(8);
      case BINARY:
        return this.#take(this.#varint());
      case LIST:
      case SET:
        return this.#list();
      case STRUCT:
        return this.struct();
      default:
        throw new RangeError(`a value has the type ${type}`);
    }
  }

  #list(): List {
    const head = this.#byte();
    const type = head & 0x0f;
    const length = head >> 4 === LONG_LIST ? this.#varint() : head >> 4;
    const items: Value[] = [];
    while (items.length < length) items.push(this.#value(type));
    return { type, items };
  }

  #int(): number {
    const zigzag = this.#varint();
    return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
  }

  #varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (!Number.isSafeInteger(value)) throw new RangeError('a number is too large');
      if (byte < 0x80) return value;
    }
  }

  #byte(): number {
    return this.bytes.readUInt8(this.#at++);
  }

  #take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.bytes.length) throw new RangeError('a value is longer than the bytes');
    const taken = this.bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}

class Writer {
  #bytes = Buffer.alloc(4096);
  #length = 0;

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  struct(fields: Struct): void {
    let before = 0;
    for (const [id, { type, value }] of [...fields].sort(([a], [b]) => a - b)) {
      const step = id - before;
      before = id;
      if (step > 0 && step <= 0x0f) this.#byte((step << 4) | flagType(type, value));
      else {
        this.#byte(flagType(type, value));
        this.#int(id);
      }
      if (typeof value !== 'boolean') this.#value(type, value);
    }
    this.#byte(0);
  }

  #value(type: number, value: Value): void {
    if (typeof value === 'boolean') this.#byte(value ? TRUE : FALSE);
    else if (typeof value === 'number') {
      if (type === BYTE) this.#byte(value);
      else this.#int(value);
    } else if (Buffer.isBuffer(value)) {
      if (type === BINARY) this.#varint(value.length);
      this.#put(value);
    } else if (value instanceof Map) this.struct(value);
    else this.#list(value as List);
  }

  #list({ type, items }: List): void {
    const isLong = items.length >= LONG_LIST;
    this.#byte(((isLong ? LONG_LIST : items.length) << 4) | type);
    if (isLong) this.#varint(items.length);
    for (const item of items) this.#value(type, item);
  }

  #int(value: number): void {
    this.#varint(value >= 0 ? 2 * value : -2 * value - 1);
  }

  #varint(value: number): void {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#byte((rest % 0x80) | 0x80);
    this.#byte(rest);
  }

  #byte(value: number): void {
    this.#makeRoom(1);
    this.#bytes[this.#length++] = value;
  }

  #put(value: Buffer): void {
    this.#makeRoom(value.length);
    value.copy(this.#bytes, this.#length);
    this.#length += value.length;
  }

  #makeRoom(length: number): void {
    if (this.#length + length <= this.#bytes.length) return;
    this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length + length)]);
  }
}

/** A boolean field has its value in its type. */
function flagType(type: number, value: Value): number {
  if (typeof value !== 'boolean') return type;
  return value ? TRUE : FALSE;
}
