/** Sends requests on several connections, one at a time on each. It only writes and finds the end of a response, so that the measurement is not slower than the service. */
import { connect } from 'node:net';

const headEnd = Buffer.from('\r\n\r\n');

class Connection {
  #socket;
  #chunks = Buffer.alloc(0);
  #waiters;

  static async open(url) {
    const { hostname, port } = new URL(url);
    const connection = new Connection();
    connection.#socket = connect(Number(port), hostname);
    connection.#socket.setNoDelay(true);
    await new Promise((resolve, reject) => {
      connection.#socket.once('connect', resolve);
      connection.#socket.once('error', reject);
    });
    connection.#socket.on('data', (chunk) => connection.#take(chunk));
    for (const event of ['error', 'close'])
      connection.#socket.on(event, () => connection.#waiters?.reject(new Error('The connection ended.')));
    return connection;
  }

  /** Sends a request. Returns the complete response. */
  send(bytes) {
    this.#socket.write(bytes);
    return new Promise((resolve, reject) => {
      this.#waiters = { resolve, reject };
    });
  }

  close() {
    this.#waiters = undefined;
    this.#socket.destroy();
  }

  #take(chunk) {
    this.#chunks = this.#chunks.length === 0 ? chunk : Buffer.concat([this.#chunks, chunk]);
    const end = this.#chunks.indexOf(headEnd);
    if (end < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(this.#chunks.latin1Slice(0, end))?.[1] ?? 0);
    if (this.#chunks.length < end + 4 + length) return;
    const answer = this.#chunks;
    this.#chunks = Buffer.alloc(0);
    this.#waiters.resolve(answer);
  }
}

export class LoadConnections {
  #connections;

  static async open(url, count) {
    const loadConnections = new LoadConnections();
    loadConnections.#connections = await Promise.all(Array.from({ length: count }, () => Connection.open(url)));
    return loadConnections;
  }

  /** Sends a single request on one of the connections. */
  once(bytes) {
    return this.#connections[0].send(bytes);
  }

  /** Sends requests for this many milliseconds, or at most `limit`; `make` creates each. Returns their number. Throws if one does not succeed. */
  async run(make, { milliseconds = Number.POSITIVE_INFINITY, limit = Number.POSITIVE_INFINITY }) {
    const end = performance.now() + milliseconds;
    let sentCount = 0;
    const work = async (connection) => {
      while (sentCount < limit && performance.now() < end) {
        sentCount += 1;
        const answer = await connection.send(make());
        // HTTP/1.1 2..
        if (answer[9] !== 50) throw new Error(`An answer was no success: ${answer.toString('utf8')}`);
      }
    };
    await Promise.all(this.#connections.map(work));
    return sentCount;
  }

  close() {
    for (const connection of this.#connections) connection.close();
  }
}
