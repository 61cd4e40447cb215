package slack

// ring is a map of what was put last.
type ring[V any] struct {
	values map[string]V
	keys   []string
	next   int // the oldest of keys, once there are as many as may be
}

// get returns what was put under a key, unless it was too long ago.
func (r *ring[V]) get(key string) (V, bool) {
	v, ok := r.values[key]
	return v, ok
}

// put keeps a value, and forgets the oldest beyond most of them.
func (r *ring[V]) put(key string, v V, most int) {
	if r.values == nil {
		r.values = make(map[string]V)
	}
	if _, known := r.values[key]; known {
		r.values[key] = v
		return
	}
	if len(r.keys) < most {
		r.keys = append(r.keys, key)
	} else {
		delete(r.values, r.keys[r.next])
		r.keys[r.next] = key
		r.next = (r.next + 1) % most
	}
	r.values[key] = v
}
