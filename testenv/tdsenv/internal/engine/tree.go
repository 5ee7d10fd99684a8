package engine

import (
	"sync/atomic"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// tree is an ordered map that never changes: every change makes a new one, which shares with the
// old one what is the same in both. So a snapshot of a table is a pointer, and readers need no
// lock against writers, or against redo.
type tree struct{ root *treeNode }

type treeNode struct {
	key, row    []any
	priority    uint64
	left, right *treeNode
}

var nodes atomic.Uint64

// nextPriority is random enough for a treap to stay flat, and the same in every run.
func nextPriority() uint64 {
	z := nodes.Add(1) * 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

func (t tree) get(key []any) ([]any, bool) {
	for n := t.root; n != nil; {
		switch c := sqlval.OrderAll(key, n.key); {
		case c == 0:
			return n.row, true
		case c < 0:
			n = n.left
		default:
			n = n.right
		}
	}
	return nil, false
}

func (t tree) put(key, row []any) tree {
	return tree{put(t.root, key, row)}
}

func put(n *treeNode, key, row []any) *treeNode {
	if n == nil {
		return &treeNode{key: key, row: row, priority: nextPriority()}
	}
	c := *n
	switch o := sqlval.OrderAll(key, n.key); {
	case o == 0:
		c.key, c.row = key, row
	case o < 0:
		c.left = put(n.left, key, row)
		if l := c.left; l.priority > c.priority {
			c.left, l.right = l.right, &c
			return l
		}
	default:
		c.right = put(n.right, key, row)
		if r := c.right; r.priority > c.priority {
			c.right, r.left = r.left, &c
			return r
		}
	}
	return &c
}

func (t tree) remove(key []any) tree { return tree{remove(t.root, key)} }

func remove(n *treeNode, key []any) *treeNode {
	if n == nil {
		return nil
	}
	o := sqlval.OrderAll(key, n.key)
	if o == 0 {
		return join(n.left, n.right)
	}
	c := *n
	if o < 0 {
		c.left = remove(n.left, key)
	} else {
		c.right = remove(n.right, key)
	}
	return &c
}

func join(l, r *treeNode) *treeNode {
	switch {
	case l == nil:
		return r
	case r == nil:
		return l
	case l.priority > r.priority:
		c := *l
		c.right = join(l.right, r)
		return &c
	}
	c := *r
	c.left = join(l, r.left)
	return &c
}

// each visits the rows in the order of their keys until visit fails or says false.
func (t tree) each(visit func(key, row []any) (bool, error)) error {
	_, err := each(t.root, visit)
	return err
}

func each(n *treeNode, visit func(key, row []any) (bool, error)) (bool, error) {
	if n == nil {
		return true, nil
	}
	if more, err := each(n.left, visit); !more || err != nil {
		return false, err
	}
	if more, err := visit(n.key, n.row); !more || err != nil {
		return false, err
	}
	return each(n.right, visit)
}
