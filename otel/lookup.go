package otel

import (
	"maps"
	"sync"
	"sync/atomic"
)

// lookup keeps one value for each key, for what happens with every statement of the
// application: finding a value allocates nothing and waits for nobody, because the
// map that it is in is never changed. A new key copies it.
type lookup[K comparable, V any] struct {
	values  atomic.Pointer[map[K]V]
	growing sync.Mutex
	value   func(K) V
}

func newLookup[K comparable, V any](value func(K) V) *lookup[K, V] {
	l := &lookup[K, V]{value: value}
	l.clear()
	return l
}

func (l *lookup[K, V]) get(k K) V {
	if v, ok := l.all()[k]; ok {
		return v
	}
	l.growing.Lock()
	defer l.growing.Unlock()
	if v, ok := l.all()[k]; ok {
		return v
	}
	grown := maps.Clone(l.all())
	grown[k] = l.value(k)
	l.values.Store(&grown)
	return grown[k]
}

// all returns what there is; it must not be changed.
func (l *lookup[K, V]) all() map[K]V { return *l.values.Load() }

func (l *lookup[K, V]) drop(keys []K) {
	if len(keys) == 0 {
		return
	}
	l.growing.Lock()
	defer l.growing.Unlock()
	left := maps.Clone(l.all())
	for _, k := range keys {
		delete(left, k)
	}
	l.values.Store(&left)
}

func (l *lookup[K, V]) clear() {
	l.growing.Lock()
	defer l.growing.Unlock()
	l.values.Store(&map[K]V{})
}
