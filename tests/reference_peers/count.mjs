// Reads a JSON list of texts and writes the list of their lengths in tokens of o200k_base. What looks like a
// special token is plain text here, as it is in a document.
//
// With `unicode-blanks`, blanks in the vocabulary's pattern are those of Unicode, as in the vocabulary's own
// implementation: `\s` of JavaScript takes U+FEFF for one, and U+0085 for none (ECMA-262, CharacterClassEscape).
import { text } from "node:stream/consumers";
import { Tiktoken } from "js-tiktoken/lite";
import o200k_base from "js-tiktoken/ranks/o200k_base";

const blanks = process.argv[2] === "unicode-blanks";
const pattern = o200k_base.pat_str.replaceAll("\\s", "\\p{White_Space}").replaceAll("\\S", "\\P{White_Space}");
const vocabulary = new Tiktoken(blanks ? { ...o200k_base, pat_str: pattern } : o200k_base);
const texts = JSON.parse(await text(process.stdin));
process.stdout.write(JSON.stringify(texts.map((one) => vocabulary.encode(one, [], []).length)));
