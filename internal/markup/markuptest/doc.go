// Package markuptest is shared by the tests of all dialects. The package contains typical answers of models, a
// generator of difficult Markdown, and checks of the layouts of growing texts.
package markuptest
