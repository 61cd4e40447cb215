package receiving

import "sync"

// Recent is a map that forgets its oldest keys. Adapters remember accepted messages in it, which platforms may deliver twice. It
// is safe for concurrent use.
type Recent[V any] struct {
	mu     sync.Mutex
	values map[string]V
	keys   []string // in a ring
	next   int      // the oldest of keys, once there are as many as may be
	limit  int
}

// NewRecent returns an empty map that keeps up to limit keys.
func NewRecent[V any](limit int) *Recent[V] {
	return &Recent[V]{values: make(map[string]V), limit: limit}
}

// Get returns what was put under a key, unless it is forgotten.
func (r *Recent[V]) Get(key string) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.values[key]
	return v, ok
}

// Has reports whether something was put under a key, and is not forgotten.
func (r *Recent[V]) Has(key string) bool {
	_, ok := r.Get(key)
	return ok
}

// Put keeps a value. A key that is there already does not become newer.
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

// Values returns all values, in no order.
func (r *Recent[V]) Values() []V {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]V, 0, len(r.values))
	for _, v := range r.values {
		list = append(list, v)
	}
	return list
}
