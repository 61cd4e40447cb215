package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// handleStored answers a request that reads (GET) or deletes (DELETE) a stored response.
func (s *Server) handleStored(rp *reply, r *http.Request, c *client, id string) *apiError {
	if err := checkMethod(rp, r, http.MethodGet, http.MethodDelete); err != nil {
		return err
	}
	missing := &apiError{
		status: http.StatusNotFound, kind: invalidRequest, param: "response_id", code: "response_not_found",
		message: fmt.Sprintf("Response with id %q not found.", clip(id)),
	}
	if r.Method == http.MethodDelete {
		found, err := s.Store.DeleteResponse(r.Context(), s.personOf(c), id)
		switch {
		case err != nil:
			return s.storeError(r.Context(), "a response could not be deleted", err)
		case !found:
			return missing
		}
		return rp.json(map[string]any{"id": id, "object": "response", "deleted": true})
	}
	if r.URL.Query().Get("stream") == "true" {
		return badRequest("stream", "Stored responses can't be streamed.")
	}
	chain, err := s.Store.Responses(r.Context(), s.personOf(c), id)
	switch {
	case err != nil:
		return s.storeError(r.Context(), "a response could not be read", err)
	case len(chain) == 0:
		return missing
	}
	return rp.json(json.RawMessage(chain[len(chain)-1].Body))
}
