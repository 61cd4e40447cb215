package telegram

import "net/http"

func (s *Server) serveControl(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }

func (s *Server) servePage(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }
