// Two functions that take their time; the second is made anew several times, so that code of other names lies where it was.
function sum(from) { let all = 0; for (let i = from; i < from + 2e6; i++) all += i % 7; return all; }
function made(n) { return new Function("x", `function work${n}(x) { let all = 0; for (let i = 0; i < 1e6; i++) all += (i ^ x) % ${n + 3}; return all; } return work${n}(x);`); }
const end = Date.now() + 1500;
let n = 0, all = 0;
while (Date.now() < end) { all += sum(n); const f = made(n % 8); all += f(n) + f(n + 1); n++; }
console.log(all > 0);
