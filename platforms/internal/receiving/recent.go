package receiving

import "sync"

// Recent is a map that forgets its oldest keys. Adapters use a Recent to remember accepted messages, because
// platforms may deliver a message twice. A Recent is safe for concurrent use.
type Recent[V any] struct {
	mu     sync.Mutex
	values map[string]V
	keys   []string // a ring buffer
	next   int      // if keys is full, the index of the oldest key
	limit  int
}

// NewRecent returns an empty map that keeps up to limit keys.
func NewRecent[V any](limit int) *Recent[V] {
	return &Recent[V]{values: make(map[string]V), limit: limit}
}

// Get returns the value of a key. Get returns false if the map never contained the key, or has forgotten it.
func (r *Recent[V]) Get(key string) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.values[key]
	return v, ok
}

// Has reports whether the map contains the key.
func (r *Recent[V]) Has(key string) bool {
	_, ok := r.Get(key)
	return ok
}

// Put stores the value v for a key. If the map already contains the key, the age of the key does not change.
func (r *Recent[V]) Put(key string, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.values[key]
	r.values[key] = v
	switch {
	case known:
	case len(r.keys) < r.limit:
		r.keys = append(r.keys, key)
	default:
		delete(r.values, r.keys[r.next])
		r.keys[r.next] = key
		r.next = (r.next + 1) % r.limit
	}
}

// Values returns all values, in any order.
func (r *Recent[V]) Values() []V {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]V, 0, len(r.values))
	for _, v := range r.values {
		list = append(list, v)
	}
	return list
}
