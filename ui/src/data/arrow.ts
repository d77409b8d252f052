// Reads columns from an Arrow IPC stream. Columns are found by name: a table may have more, in any order.

import { type Table, tableFromIPC } from "@uwdata/flechette";

/** A table whose columns are looked up by name. */
export class Columns {
  readonly #table: Table;

  private constructor(table: Table) {
    this.#table = table;
  }

  static read(bytes: ArrayBuffer | Uint8Array): Columns {
    return new Columns(tableFromIPC(bytes));
  }

  get length(): number {
    return this.#table.numRows;
  }

  /** A number of the schema's metadata. */
  meta(name: string, otherwise: number): number {
    const text = this.#table.schema.metadata?.get(name);
    const value = text === undefined ? Number.NaN : Number(text);
    return Number.isNaN(value) ? otherwise : value;
  }

  metaText(name: string, otherwise: string): string {
    return this.#table.schema.metadata?.get(name) ?? otherwise;
  }

  doubles(name: string): Float64Array {
    return this.#numbers(name, Float64Array);
  }

  floats(name: string): Float32Array {
    return this.#numbers(name, Float32Array);
  }

  integers(name: string): Int32Array {
    return this.#numbers(name, Int32Array);
  }

  bytes(name: string): Uint8Array {
    return this.#numbers(name, Uint8Array);
  }

  /** A column of text; empty texts if there is no such column. */
  texts(name: string): string[] {
    const column = this.#table.getChild(name);
    if (!column) return new Array<string>(this.length).fill("");
    return Array.from(column.toArray() as ArrayLike<unknown>, (value) => (typeof value === "string" ? value : ""));
  }

  has(name: string): boolean {
    return this.#table.schema.fields.some((field) => field.name === name);
  }

  #numbers<T extends TypedArray>(name: string, make: TypedArrayOf<T>): T {
    const column = this.#table.getChild(name);
    if (!column) throw new Error(`the answer has no column ${name}`);
    const values = column.toArray() as ArrayLike<number>;
    return values instanceof make ? values : make.from(values);
  }
}

type TypedArray = Float64Array | Float32Array | Int32Array | Uint8Array;

interface TypedArrayOf<T> {
  new (length: number): T;
  from(values: ArrayLike<number>): T;
}
