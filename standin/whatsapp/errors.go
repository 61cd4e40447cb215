package whatsapp

import (
	"fmt"
	"net/http"

	"telex/standin/rig"
)

// Codes of errors.
// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes
const (
	CodeUnknown       = 1
	CodeService       = 2      // temporarily unavailable
	CodeAppCalls      = 4      // the app has exceeded its rate limit
	CodeParameter     = 100    // a parameter is unknown, missing or malformed
	CodeNoToken       = 104    // no access token was sent
	CodeToken         = 190    // the access token is invalid
	CodePath          = 2500   // there is no such path
	CodeAccountCalls  = 80007  // the business account has exceeded its rate limit
	CodeThroughput    = 130429 // the number has exceeded its messages per second
	CodeGeneric       = 131000 // something went wrong
	CodeValue         = 131009 // the value of a parameter is invalid
	CodeOverloaded    = 131016 // temporarily unavailable
	CodeSelf          = 131021 // the recipient is the business itself
	CodeUndeliverable = 131026
	CodeWindow        = 131047 // the person's last message is more than 24 hours old
	CodeType          = 131051 // an unsupported type of message
	CodeMediaDownload = 131052
	CodeMedia         = 131053 // the media does not fit the type of the message
	CodePair          = 131056 // the messages to one person have exceeded their rate limit
	CodeTemplate      = 132001 // there is no such template
)

// apiError is a response that refuses a call. To refuse a call, a method panics with an apiError; see package rig.
type apiError struct {
	status  int
	kind    string // OAuthException if empty
	code    int
	subcode int
	message string
	// details is the text in the field error_data. The response omits error_data if details is empty.
	details string
}

// knownErrors returns the errors that have a fixed title, by code. Each of these errors has its own HTTP status, title
// and default details.
func knownErrors() map[int]apiError {
	const later = "Please retry later."
	return map[int]apiError{
		CodeUnknown:       {status: 400, message: "An unknown error occurred"},
		CodeService:       {status: 503, message: "Service temporarily unavailable"},
		CodeAppCalls:      {status: 400, message: "Application request limit reached"},
		CodeParameter:     {status: 400, message: "Invalid parameter"},
		CodeToken:         {status: 401, message: "Invalid OAuth access token - Cannot parse access token"},
		CodeAccountCalls:  {status: 400, message: "Rate limit issues", details: "The WhatsApp Business Account has reached its rate limit."},
		CodeThroughput:    {status: 400, message: "Rate limit hit", details: "Cloud API message throughput has been reached."},
		CodeGeneric:       {status: 500, message: "Something went wrong", details: later},
		CodeValue:         {status: 400, message: "Parameter value is not valid"},
		CodeOverloaded:    {status: 500, message: "Service unavailable", details: later},
		CodeSelf:          {status: 400, message: "Recipient cannot be sender"},
		CodeUndeliverable: {status: 400, message: "Message undeliverable", details: "Message Undeliverable."},
		CodeWindow: {
			status: 400, message: "Re-engagement message",
			details: "Message failed to send because more than 24 hours have passed since the customer last replied to this number.",
		},
		CodeType:          {status: 400, message: "Unsupported message type"},
		CodeMediaDownload: {status: 400, message: "Media download error"},
		CodeMedia:         {status: 400, message: "Media upload error"},
		CodePair: {
			status: 400, message: "(Business Account, Consumer Account) pair rate limit hit",
			details: "Message failed to send because there were too many messages sent from this phone number to the same phone number in a short period of time.",
		},
		CodeTemplate: {status: 404, message: "Template name does not exist in the translation"},
	}
}

// fail returns the known error with this code. If details is empty, the error has its default details.
func fail(code int, details string) *apiError {
	e, ok := knownErrors()[code]
	if !ok {
		e = apiError{status: http.StatusBadRequest, message: "Error"}
	}
	e.code = code
	if details != "" {
		e.details = details
	}
	if code > CodeToken { // only the titles of WhatsApp's own errors begin with the code, not those of the Graph API
		e.message = fmt.Sprintf("(#%d) %s", code, e.message)
	}
	return &e
}

// badParam returns error 100 with the given message.
func badParam(format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, code: CodeParameter, message: "(#100) " + fmt.Sprintf(format, args...)}
}

// noObject returns the error for an unknown id.
func noObject(verb, id string) *apiError {
	return &apiError{
		status: http.StatusBadRequest, kind: "GraphMethodException", code: CodeParameter, subcode: 33,
		message: fmt.Sprintf("Unsupported %s request. Object with ID '%s' does not exist, cannot be loaded due to missing permissions, "+
			"or does not support this operation. Please read the Graph API documentation at https://developers.facebook.com/docs/graph-api", verb, id),
	}
}

// noPath returns the error for an unknown path.
func noPath(path string) *apiError {
	return &apiError{status: http.StatusBadRequest, code: CodePath, message: "Unknown path components: " + path}
}

// failIf refuses the call with an error if broken is true.
func failIf(broken bool, code int, details string) {
	if broken {
		panic(fail(code, details))
	}
}

// answer returns the error in the form of the Graph API. Source:
// https://developers.facebook.com/docs/graph-api/guides/error-handling
func (e *apiError) answer(trace string) rig.Answer {
	body := object{"message": e.message, "type": "OAuthException", "code": e.code, "fbtrace_id": trace}
	if e.kind != "" {
		body["type"] = e.kind
	}
	if e.subcode != 0 {
		body["error_subcode"] = e.subcode
	}
	if e.details != "" {
		body["error_data"] = object{"messaging_product": "whatsapp", "details": e.details}
	}
	a := reply(e.status, object{"error": body})
	a.Header = http.Header{"Www-Authenticate": {fmt.Sprintf(`OAuth "Facebook Platform" "invalid_request" %q`, e.message)}}
	return a
}

// object is a JSON object in a response or a webhook.
type object map[string]any

// reply returns a JSON response.
func reply(status int, o object) rig.Answer {
	a := rig.JSON(status, o)
	a.ContentType = "application/json; charset=UTF-8"
	return a
}
