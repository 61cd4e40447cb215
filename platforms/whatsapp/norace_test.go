//go:build !race

package whatsapp

// forged is how many forged webhooks a test sends.
const forged = 10_000
