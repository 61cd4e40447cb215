package telegram

import "slices"

// normalize converts sorted entities to Telegram's normal form. In the normal form, entities with the same format
// neither touch nor overlap. Code contains no entities, links and code don't overlap, and quotes are not nested.
// normalize splits a bold or similar entity where the entity crosses the border of another one.
func normalize(entities []Entity) []Entity {
	var quotes, solid, splits []Entity
	for _, e := range entities {
		switch {
		case isQuote(e.Type):
			quotes = append(quotes, e)
		case isSplittable(e.Type):
			splits = append(splits, e)
		default:
			solid = append(solid, e)
		}
	}
	quotes = dropOverlapping(quotes)
	solid = slices.DeleteFunc(dropOverlapping(solid), func(e Entity) bool {
		return slices.ContainsFunc(quotes, func(q Entity) bool { return overlaps(e, q) && !isInside(e, q) })
	})
	fixed := slices.Concat(quotes, solid)
	sortEntities(fixed)
	for _, e := range joinSame(splits) {
		fixed = append(fixed, cutAt(e, quotes, solid)...)
	}
	sortEntities(fixed)
	return fixed
}

func overlaps(a, b Entity) bool { return a.Offset < b.end() && b.Offset < a.end() }

// isInside reports whether a is inside b.
func isInside(a, b Entity) bool { return a.Offset >= b.Offset && a.end() <= b.end() }

// dropOverlapping removes each entity that overlaps an earlier entity of the list.
func dropOverlapping(sorted []Entity) []Entity {
	kept, end := sorted[:0], 0
	for _, e := range sorted {
		if e.Offset >= end {
			kept, end = append(kept, e), e.end()
		}
	}
	return kept
}

// joinSame joins entities of the same type that touch or overlap.
func joinSame(sorted []Entity) []Entity {
	var kept []Entity
	last := make(map[string]int) // for each type: the index of the last entity in the list kept
	for _, e := range sorted {
		if i, ok := last[e.Type]; ok && e.Offset <= kept[i].end() {
			kept[i].Length = max(kept[i].end(), e.end()) - kept[i].Offset
			continue
		}
		last[e.Type] = len(kept)
		kept = append(kept, e)
	}
	return kept
}

// cutAt removes the parts of the entity e that are inside code. cutAt splits the remaining parts where they cross the
// border of a quote or a link.
func cutAt(e Entity, quotes, solid []Entity) []Entity {
	pieces := []Entity{e}
	for _, other := range slices.Concat(quotes, solid) {
		if !overlaps(e, other) {
			continue
		}
		var next []Entity
		for _, p := range pieces {
			next = append(next, cutOne(p, other)...)
		}
		pieces = next
	}
	return pieces
}

func cutOne(p, other Entity) []Entity {
	switch {
	case !overlaps(p, other):
		return []Entity{p}
	case isCode(other.Type):
		return append(span(p, p.Offset, other.Offset), span(p, other.end(), p.end())...)
	case isInside(p, other), isInside(other, p):
		return []Entity{p}
	case p.Offset < other.Offset:
		return append(span(p, p.Offset, other.Offset), span(p, other.Offset, p.end())...)
	}
	return append(span(p, p.Offset, other.end()), span(p, other.end(), p.end())...)
}

// span returns the entity e limited to the range from start to end, or nil if this range is empty.
func span(e Entity, start, end int) []Entity {
	if end <= start {
		return nil
	}
	e.Offset, e.Length = start, end-start
	return []Entity{e}
}
