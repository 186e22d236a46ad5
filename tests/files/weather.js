'use strict';
const readline = require('readline');

class Station {
  constructor() { this.degrees = []; }
  add(d) { this.degrees.push(d); }
  mean() { return this.degrees.reduce((a, b) => a + b, 0) / (this.degrees.length || 1); }
}

const station = new Station();
const lines = readline.createInterface({ input: process.stdin });
lines.on('line', (line) => station.add(parseFloat(line)));
lines.on('close', () => console.log(`mean of ${station.degrees.length} readings: ${station.mean()}`));
module.exports = { Station };
