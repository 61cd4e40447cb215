// Package calls is what the calls of every adapter have in common: the transport, what came of one call, errors without
// secrets, files as forms, and downloads. It knows no platform: an adapter adds its encoding and the meaning of its errors.
package calls
