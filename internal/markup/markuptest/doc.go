// Package markuptest holds what the tests of every dialect share: answers as models write
// them, a generator of the worst Markdown, and the properties that must hold for each
// beginning of a text.
package markuptest
