// Package markuptest is shared by the tests of all dialects: typical answers of models, a generator of difficult
// Markdown, and the properties that must hold for each beginning of a text.
package markuptest
