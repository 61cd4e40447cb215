package telegram

import "slices"

// normalize brings sorted entities into the form in which the platform keeps
// them: no two of the same look touch or overlap, nothing lies in code, links
// and code don't overlap each other, quotes are not nested, and bold and its
// like are cut where they cross the border of another entity.
func normalize(entities []Entity) []Entity {
	var quotes, solid, splits []Entity
	for _, e := range entities {
		switch {
		case quote(e.Type):
			quotes = append(quotes, e)
		case splittable(e.Type):
			splits = append(splits, e)
		default:
			solid = append(solid, e)
		}
	}
	quotes = dropOverlapping(quotes)
	solid = slices.DeleteFunc(dropOverlapping(solid), func(e Entity) bool {
		return slices.ContainsFunc(quotes, func(q Entity) bool { return overlap(e, q) && !inside(e, q) })
	})
	fixed := slices.Concat(quotes, solid)
	sortEntities(fixed)
	for _, e := range joinSame(splits) {
		fixed = append(fixed, cutAt(e, quotes, solid)...)
	}
	sortEntities(fixed)
	return fixed
}

func overlap(a, b Entity) bool { return a.Offset < b.end() && b.Offset < a.end() }

// inside tells whether a lies within b.
func inside(a, b Entity) bool { return a.Offset >= b.Offset && a.end() <= b.end() }

// dropOverlapping keeps the first of entities that overlap.
func dropOverlapping(sorted []Entity) []Entity {
	kept, end := sorted[:0], 0
	for _, e := range sorted {
		if e.Offset >= end {
			kept, end = append(kept, e), e.end()
		}
	}
	return kept
}

// joinSame makes one of entities of a type that touch or overlap.
func joinSame(sorted []Entity) []Entity {
	var kept []Entity
	last := make(map[string]int) // index in kept by type.
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

// cutAt takes what lies in code out of e, and cuts the rest where it crosses a
// quote or a link.
func cutAt(e Entity, quotes, solid []Entity) []Entity {
	pieces := []Entity{e}
	for _, other := range slices.Concat(quotes, solid) {
		if !overlap(e, other) {
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
	case !overlap(p, other):
		return []Entity{p}
	case codeLike(other.Type):
		return append(span(p, p.Offset, other.Offset), span(p, other.end(), p.end())...)
	case inside(p, other), inside(other, p):
		return []Entity{p}
	case p.Offset < other.Offset:
		return append(span(p, p.Offset, other.Offset), span(p, other.Offset, p.end())...)
	}
	return append(span(p, p.Offset, other.end()), span(p, other.end(), p.end())...)
}

// span is e from start to end, or nothing.
func span(e Entity, start, end int) []Entity {
	if end <= start {
		return nil
	}
	e.Offset, e.Length = start, end-start
	return []Entity{e}
}
