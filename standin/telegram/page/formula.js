// This file draws formulas: it converts the LaTeX in answers to MathML. For an unknown command, it shows the command's
// name.

const SPACE = "http://www.w3.org/1998/Math/MathML";

const make = (tag, ...children) => {
  const node = document.createElementNS(SPACE, tag);
  node.append(...children);
  return node;
};

const LETTERS = {
  alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ε", varepsilon: "ε", zeta: "ζ", eta: "η", theta: "θ", iota: "ι", kappa: "κ",
  lambda: "λ", mu: "μ", nu: "ν", xi: "ξ", pi: "π", rho: "ρ", sigma: "σ", tau: "τ", phi: "φ", varphi: "φ", chi: "χ", psi: "ψ", omega: "ω",
  Gamma: "Γ", Delta: "Δ", Theta: "Θ", Lambda: "Λ", Xi: "Ξ", Pi: "Π", Sigma: "Σ", Phi: "Φ", Psi: "Ψ", Omega: "Ω",
  infty: "∞", partial: "∂", nabla: "∇", hbar: "ℏ", ell: "ℓ", emptyset: "∅", Re: "ℜ", Im: "ℑ", ldots: "…", dots: "…", cdots: "⋯", vdots: "⋮", degree: "°",
};
const SIGNS = {
  times: "×", cdot: "·", div: "÷", pm: "±", mp: "∓", ast: "∗", circ: "∘", le: "≤", leq: "≤", ge: "≥", geq: "≥", ne: "≠", neq: "≠", approx: "≈",
  equiv: "≡", sim: "∼", propto: "∝", ll: "≪", gg: "≫", in: "∈", notin: "∉", subset: "⊂", subseteq: "⊆", cup: "∪", cap: "∩", setminus: "∖", to: "→",
  rightarrow: "→", leftarrow: "←", Rightarrow: "⇒", implies: "⟹", iff: "⟺", mapsto: "↦", forall: "∀", exists: "∃", neg: "¬", land: "∧", lor: "∨",
  mid: "|", parallel: "∥", perp: "⊥", angle: "∠", langle: "⟨", rangle: "⟩", lfloor: "⌊", rfloor: "⌋", lceil: "⌈", rceil: "⌉", prime: "′",
  "{": "{", "}": "}", "|": "‖", lbrace: "{", rbrace: "}", "%": "%", $: "$", "#": "#", "&": "&", _: "_",
};
const LARGE = { sum: "∑", prod: "∏", int: "∫", iint: "∬", oint: "∮", bigcup: "⋃", bigcap: "⋂" };
const WORDS = new Set(["sin", "cos", "tan", "log", "ln", "exp", "lim", "max", "min", "sup", "inf", "det", "dim", "ker", "arg", "gcd", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "Pr"]);
const ACCENTS = { hat: "^", bar: "¯", overline: "¯", vec: "→", tilde: "~", dot: "˙", ddot: "¨" };
const DOUBLE = { R: "ℝ", N: "ℕ", Z: "ℤ", Q: "ℚ", C: "ℂ", P: "ℙ", E: "𝔼" };
const QUIET = new Set(["left", "right", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "displaystyle", "limits", "nolimits", "boxed", "mathbf", "mathcal", "boldsymbol", "hline", "!"]);
const GAPS = { quad: "1em", qquad: "2em", ",": ".17em", ":": ".22em", ";": ".28em", " ": ".3em" };

class Reader {
  constructor(source) { this.tokens = source.match(/\\[A-Za-z]+|\\.|\d+(?:[.,]\d+)*|\s+|./gsu) || []; this.at = 0; }

  get next() { return this.tokens[this.at]; }
  blank() { while (this.next && !this.next.trim()) this.at++; }

  // raw returns the source of an argument.
  raw() {
    this.blank();
    if (this.next !== "{") return this.tokens[this.at++] || "";
    let depth = 0, out = "";
    do {
      const t = this.tokens[this.at++];
      if (t === "{" && depth++ === 0) continue;
      if (t === "}" && --depth === 0) break;
      out += t;
    } while (this.next);
    return out;
  }

  argument() { return row(this.raw()); }

  // list reads items up to a token in ends, which it does not consume. A subscript or superscript belongs to the item before it.
  list(...ends) {
    const out = [];
    for (this.blank(); this.next && !ends.includes(this.next); this.blank()) {
      const t = this.next;
      if (t !== "^" && t !== "_") { out.push(this.atom()); continue; }
      this.at++;
      const base = out.pop() || make("mrow"), limit = this.argument();
      const around = base.large, old = { msub: "msubsup", msup: "msubsup", munder: "munderover", mover: "munderover" }[base.limits];
      const tag = old || (around ? { "^": "mover", _: "munder" } : { "^": "msup", _: "msub" })[t];
      const node = make(tag, ...(old ? [...base.childNodes] : [base]));
      if (old && t === "_") node.insertBefore(limit, node.lastChild); else node.append(limit);
      node.limits = tag;
      out.push(node);
    }
    return out;
  }

  atom() {
    const t = this.tokens[this.at++];
    if (t === "{") { this.at--; return this.argument(); }
    if (t === "~") return make("mtext", "\u00a0");
    if (/^\d/.test(t)) return make("mn", t);
    if (t[0] !== "\\") return make(/\p{L}/u.test(t) ? "mi" : "mo", t === "-" ? "−" : t === "'" ? "′" : t);
    const name = t.slice(1);
    if (LETTERS[name]) return make("mi", LETTERS[name]);
    if (SIGNS[name]) return make("mo", SIGNS[name]);
    if (LARGE[name] || name === "lim") {
      const node = make("mo", LARGE[name] || "lim");
      node.large = !name.endsWith("int");
      return node;
    }
    if (WORDS.has(name)) return make("mi", name);
    if (ACCENTS[name]) { const over = make("mover", this.argument(), make("mo", ACCENTS[name])); over.setAttribute("accent", "true"); return over; }
    if (GAPS[name]) { const gap = make("mspace"); gap.setAttribute("width", GAPS[name]); return gap; }
    if (QUIET.has(name)) {
      if (/^(left|right)$/.test(name) && this.next === ".") this.at++;
      return make("mrow");
    }
    switch (name) {
      case "frac": case "dfrac": case "tfrac": return make("mfrac", this.argument(), this.argument());
      case "binom": return make("mrow", make("mo", "("), make("mfrac", this.argument(), this.argument()), make("mo", ")"));
      case "sqrt":
        if (this.next !== "[") return make("msqrt", this.argument());
        this.at++;
        { const degree = make("mrow", ...this.list("]")); this.at++; return make("mroot", this.argument(), degree); }
      case "text": case "mathrm": case "operatorname": case "textbf": case "textit": return make("mtext", this.raw());
      case "mathbb": { const letter = this.raw(); return make("mi", DOUBLE[letter] || letter); }
      case "begin": return this.table(this.raw());
      case "\\": return make("mspace");
    }
    return make("mi", name);
  }

  // table reads the rows of an environment, such as a matrix, up to its \end.
  table(name) {
    if (name === "array") this.raw();
    const rows = [[]];
    while (this.next && this.next !== "\\end") {
      rows.at(-1).push(make("mtd", ...this.list("&", "\\\\", "\\end")));
      if (this.next === "\\\\") rows.push([]);
      if (this.next !== "\\end") this.at++;
    }
    this.at++;
    this.raw();
    const table = make("mtable", ...rows.filter((r) => r.some((cell) => cell.childNodes.length)).map((r) => make("mtr", ...r)));
    const [open, close] = { pmatrix: "()", bmatrix: "[]", vmatrix: "||", cases: ["{", ""] }[name] || ["", ""];
    return make("mrow", make("mo", open), table, make("mo", close));
  }
}

const row = (source) => make("mrow", ...new Reader(source).list());

// formula draws an expression. If block is true, it draws the expression on a line of its own.
export const formula = (expression, block) => {
  const node = make("math", row(expression));
  if (block) node.setAttribute("display", "block");
  node.setAttribute("title", expression);
  return node;
};
