/** A growable column of numbers: eight bytes per row, outside the JavaScript heap. */
export class NumberColumn {
  #values = new Float64Array(64);
  length = 0;

  push(value: number): void {
    if (this.length === this.#values.length) {
      const wider = new Float64Array(this.length * 2);
      wider.set(this.#values);
      this.#values = wider;
    }
    this.#values[this.length++] = value;
  }

  get(row: number): number {
    return this.#values[row] as number;
  }

  set(row: number, value: number): void {
    this.#values[row] = value;
  }
}

/** A growable column of ASCII strings of equal length. */
export class FixedTextColumn {
  #bytes = Buffer.alloc(1024);
  length = 0;

  constructor(readonly width: number) {}

  push(text: string): void {
    if (text.length !== this.width || /[^\x21-\x7e]/.test(text)) {
      throw new RangeError(`${JSON.stringify(text)} is not an id: an id has ${this.width} ASCII characters`);
    }
    const at = this.length * this.width;
    if (at + this.width > this.#bytes.length) {
      this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length)]);
    }
    this.#bytes.write(text, at, 'latin1');
    this.length++;
  }

  get(row: number): string {
    return this.#bytes.toString('latin1', row * this.width, (row + 1) * this.width);
  }
}
