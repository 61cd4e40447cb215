// Package control is the HTTP side of a stand-in's control API: names below /control/, by which tests in other
// processes and a page in a browser steer it. What most names mean is the stand-in's; API says which are alike.
//
// A request has a JSON object as body, or none, and is answered with JSON: 200 with the result, else
// {"error":"…"} with 400, or 404 for a name that does not exist. Requests from pages of other sites are refused.
package control
