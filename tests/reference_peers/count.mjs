// Reads a JSON list of texts and writes the list of their lengths in tokens of o200k_base. What looks like a
// special token is plain text here, as it is in a document.
import { text } from "node:stream/consumers";
import { getEncoding } from "js-tiktoken";

const vocabulary = getEncoding("o200k_base");
const texts = JSON.parse(await text(process.stdin));
process.stdout.write(JSON.stringify(texts.map((one) => vocabulary.encode(one, [], []).length)));
