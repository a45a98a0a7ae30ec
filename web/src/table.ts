// All flows as rows: searched, sorted and grouped. Nothing here draws.

import { type Flow, named, type Page } from "./data.ts";

export interface Column {
  key: SortKey;
  title: string;
  /** Whether the most comes first. */
  falls: boolean;
}

export type SortKey = "flow" | "ends" | "cause" | "bytes" | "rate" | "time" | "lost" | "again";
export type GroupKey = "none" | "service" | "server" | "client" | "limit" | "cause";

export const COLUMNS: Column[] = [
  { key: "flow", title: "#", falls: false },
  { key: "ends", title: "from → to", falls: false },
  { key: "cause", title: "limited by", falls: false },
  { key: "bytes", title: "data", falls: true },
  { key: "rate", title: "rate", falls: true },
  { key: "time", title: "time", falls: true },
  { key: "lost", title: "lost", falls: true },
  { key: "again", title: "retransm.", falls: true },
];

export const GROUPS: [GroupKey, string][] = [
  ["none", "no groups"], ["service", "service"], ["server", "server"], ["client", "client"], ["limit", "limit"],
  ["cause", "cause"],
];

/** Rows that have something in common, and what they are together. */
export interface Group {
  name: string;
  rows: Int32Array;
  bytes: number;
  lost: number;
  /** From the first packet of the first to the last packet of the last, in microseconds. */
  time: number;
  again: number;
}

export class Table {
  readonly size: number;
  private texts: string[] | null = null;

  /** The flows that are shown in full, by number. */
  private readonly inFull: Map<number, Flow>;

  constructor(private readonly page: Page) {
    this.size = page.lines.flow.length;
    this.inFull = new Map(page.flows.map((flow) => [flow.flow, flow]));
  }

  private host(place: number | undefined): string {
    return this.page.lines.hosts[place ?? -1] ?? "";
  }

  /** An address and a port, as Wireshark and ss write them. */
  private endpoint(host: string, port: number): string {
    return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  }

  client(row: number): string {
    const { client, client_port } = this.page.lines;
    return this.endpoint(this.host(client[row]), client_port[row] ?? 0);
  }

  server(row: number): string {
    const { server, server_port } = this.page.lines;
    return this.endpoint(this.host(server[row]), server_port[row] ?? 0);
  }

  /** The end that sent more, and the other. */
  ends(row: number): string {
    const [client, server] = [this.client(row), this.server(row)];
    return this.page.lines.upload?.[row] ? `${client} → ${server}` : `${server} → ${client}`;
  }

  cause(row: number): string {
    const cause = this.page.lines.cause[row] ?? -1;
    return cause < 0 ? "no data" : named(this.page, cause);
  }

  /** The place of what limited it for the most part among limits; `null` if it carried no data. */
  limit(row: number): { slug: string; title: string } | null {
    const cause = this.page.causes[this.page.lines.cause[row] ?? -1];
    return (cause && this.page.limits[cause.limit]) ?? null;
  }

  /** That cause's part of its time: exact where the flow is shown in full, else to a percent. */
  share(row: number): number {
    const { cause, share } = this.page.lines;
    const finding = this.inFull.get(this.flow(row))?.findings.find((one) => one.cause === cause[row]);
    return finding?.share ?? (share[row] ?? 0) / 100;
  }

  bytes(row: number): number {
    return this.page.lines.bytes[row] ?? 0;
  }

  /** In bits per second; 0 if it took no time. */
  rate(row: number): number {
    const time = this.time(row);
    return time > 0 ? (this.bytes(row) * 8e6) / time : 0;
  }

  time(row: number): number {
    return this.page.lines.lasted_us[row] ?? 0;
  }

  lost(row: number): number {
    return this.page.lines.lost_us[row] ?? 0;
  }

  again(row: number): number {
    return this.page.lines.retransmitted?.[row] ?? 0;
  }

  flow(row: number): number {
    return this.page.lines.flow[row] ?? 0;
  }

  private text(row: number): string {
    this.texts ??= Array.from({ length: this.size }, (_, one) =>
      `${this.ends(one)} ${this.cause(one)} #${this.flow(one)}`.toLowerCase(),
    );
    return this.texts[row] ?? "";
  }

  /** The rows that have all words of `search`, sorted by `key`; `falls` has the most first. */
  rows(search: string, key: SortKey, falls: boolean): Int32Array {
    const words = search.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const found = new Int32Array(this.size);
    let size = 0;
    for (let row = 0; row < this.size; row++) {
      if (words.length === 0 || words.every((word) => this.text(row).includes(word))) found[size++] = row;
    }
    return this.sorted(found.subarray(0, size), key, falls);
  }

  private sorted(rows: Int32Array, key: SortKey, falls: boolean): Int32Array {
    const sign = falls ? -1 : 1;
    if (key === "ends" || key === "cause") {
      const texts = Array.from({ length: this.size }, (_, row) => (key === "ends" ? this.ends(row) : this.cause(row)));
      const order = new Intl.Collator("en", { numeric: true });
      return rows.sort((a, b) => sign * order.compare(texts[a] ?? "", texts[b] ?? "") || a - b);
    }
    const values = Float64Array.from({ length: this.size }, (_, row) => this[key](row));
    return rows.sort((a, b) => sign * ((values[a] as number) - (values[b] as number)) || a - b);
  }

  private groupOf(row: number, by: GroupKey): string {
    const { client, server } = this.page.lines;
    if (by === "service") return this.server(row);
    if (by === "server") return this.host(server[row]);
    if (by === "client") return this.host(client[row]);
    if (by === "limit") return this.limit(row)?.title ?? "no data";
    return this.cause(row);
  }

  /** `rows` in groups, which are in the order of `key`. */
  groups(rows: Int32Array, by: GroupKey, key: SortKey, falls: boolean): Group[] {
    const members = new Map<string, number[]>();
    for (const row of rows) {
      const name = this.groupOf(row, by);
      const known = members.get(name);
      if (known) known.push(row);
      else members.set(name, [row]);
    }
    const all = [...members].map(([name, of]) => this.together(name, of));
    const value = (group: Group): number => {
      if (key === "bytes" || key === "lost" || key === "time" || key === "again") return group[key];
      return key === "rate" ? rateOf(group) : group.rows.length;
    };
    const order = new Intl.Collator("en", { numeric: true });
    const named = key === "ends" || key === "cause";
    const sign = falls ? -1 : 1;
    // Numbers of flows say nothing of a group: those with most flows come first.
    const by_value = (a: Group, b: Group): number => (key === "flow" ? value(b) - value(a) : sign * (value(a) - value(b)));
    return all.sort((a, b) => (named ? sign * order.compare(a.name, b.name) : by_value(a, b)));
  }

  together(name: string, rows: ArrayLike<number>): Group {
    const { first_us } = this.page.lines;
    const group: Group = { name, rows: Int32Array.from(rows), bytes: 0, lost: 0, time: 0, again: 0 };
    let [from, to] = [Infinity, -Infinity];
    for (const row of group.rows) {
      group.bytes += this.bytes(row);
      group.lost += this.lost(row);
      group.again += this.again(row);
      from = Math.min(from, first_us[row] ?? 0);
      to = Math.max(to, (first_us[row] ?? 0) + this.time(row));
    }
    group.time = Math.max(0, to - from);
    return group;
  }
}

export function rateOf(group: Group): number {
  return group.time > 0 ? (group.bytes * 8e6) / group.time : 0;
}
