// Package conformance is the test suite that every adapter must pass against its platform's stand-in. It checks what
// the gateway relies on: people see exactly what was sent, failures are classified only by what is known for certain,
// adapters never retry by themselves, received messages are neither lost nor confirmed too early, no secret appears
// anywhere, and every call, including Run, ends with its context and leaves no goroutine behind.
//
// Each case runs in a testing/synctest bubble with its own world. Stand-ins therefore must serve over in-memory
// connections, and waiting costs no time.
package conformance
