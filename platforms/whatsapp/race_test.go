//go:build race

package whatsapp

// forged is how many forged webhooks a test sends: the race detector makes each of them slow.
const forged = 1000
