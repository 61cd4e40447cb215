// Package conformance is the suite that every adapter passes against its platform's stand-in.
// It checks what the gateway relies on: what is shown is what was sent, every failure is
// classified by what is surely known, nothing is repeated behind the gateway's back, nothing
// received is lost or confirmed too early, no secret appears anywhere, and every call and
// Run itself end with their context, leaving no goroutine behind.
//
// Each case runs in a testing/synctest bubble with a world of its own, so that stand-ins must
// serve over in-memory connections and waiting costs no time.
package conformance
