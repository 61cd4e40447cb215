// Package markuptest contains what the tests of all dialects share: typical answers of models, a generator of difficult
// Markdown, and checks of the layouts of growing texts.
package markuptest
