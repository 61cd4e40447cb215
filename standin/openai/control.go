package openai

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// control adds the routes by which tests in other processes control the server. Clients of these routes need no key,
// because a stand-in listens only on the loopback address.
func (s *Server) control() {
	s.mux.HandleFunc("POST /control/rule", s.controlAddRule)
	s.mux.HandleFunc("GET /control/rule", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		list := make([]any, len(s.rules))
		for i, a := range s.rules {
			list[i] = map[string]any{"number": a.number, "rule": a.Rule, "seen": a.seen}
		}
		s.mu.Unlock()
		s.write(w, http.StatusOK, "application/json", mustJSON(list))
	})
	s.mux.HandleFunc("GET /control/requests", s.controlRequests)
	s.mux.HandleFunc("GET /control/stats", func(w http.ResponseWriter, _ *http.Request) {
		s.write(w, http.StatusOK, "application/json", mustJSON(s.Stats()))
	})
	s.mux.HandleFunc("GET /control/answer", func(w http.ResponseWriter, r *http.Request) {
		s.write(w, http.StatusOK, "text/markdown; charset=utf-8", []byte(Answer(r.URL.Query().Get("question"))))
	})
	s.mux.HandleFunc("POST /control/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		w.WriteHeader(http.StatusNoContent)
	})
}

// controlAddRule adds a rule. The request's body is a JSON object with the fields of Rule.
func (s *Server) controlAddRule(w http.ResponseWriter, r *http.Request) {
	var rule Rule
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	err := d.Decode(&rule)
	if err == nil {
		err = s.Rule(rule)
	}
	if err != nil {
		s.refuse(w, invalid("", "standin_rule", "%v", err))
		return
	}
	s.write(w, http.StatusCreated, "application/json", mustJSON(rule))
}

// controlRequests lists the records of requests. ?after=ID lists only records with greater ids, and ?marks=1 includes
// the time of every token.
func (s *Server) controlRequests(w http.ResponseWriter, r *http.Request) {
	after := 0
	if text := r.URL.Query().Get("after"); text != "" {
		var err error
		if after, err = strconv.Atoi(text); err != nil {
			s.refuse(w, invalid("after", "invalid_type", "Invalid 'after': expected the id of a request, got %q.", text))
			return
		}
	}
	list := []Request{}
	for _, record := range s.Requests() {
		if record.ID <= after {
			continue
		}
		if r.URL.Query().Get("marks") == "" {
			record.Marks = nil
		}
		list = append(list, record)
	}
	s.write(w, http.StatusOK, "application/json", mustJSON(list))
}
