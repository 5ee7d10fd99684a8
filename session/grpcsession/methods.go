package grpcsession

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/readonlyguard"
)

// AtMost is readsplit.AtMost as a mark.
func AtMost(d time.Duration) Mark {
	return func(ctx context.Context) context.Context { return readsplit.AtMost(ctx, d) }
}

// Group is readsplit.Group as a mark.
func Group(name string) Mark {
	return func(ctx context.Context) context.Context { return readsplit.Group(ctx, name) }
}

// OneServer holds the reads of a call on the server of the first one, as long as that
// may serve them.
func OneServer(ctx context.Context) context.Context {
	readsplit.SessionFrom(ctx).KeepServer()
	return ctx
}

// All applies several marks, the first one first.
func All(marks ...Mark) Mark {
	return func(ctx context.Context) context.Context {
		for _, mark := range marks {
			ctx = mark(ctx)
		}
		return ctx
	}
}

// marked returns ctx with the marks of a method.
func (s *Sessions) marked(ctx context.Context, method string) context.Context {
	if len(s.opts.Methods) == 0 {
		return ctx
	}
	if i := strings.LastIndexByte(method, '/'); i > 0 {
		if mark := s.opts.Methods[method[:i+1]]; mark != nil {
			ctx = mark(ctx)
		}
	}
	if mark := s.opts.Methods[method]; mark != nil {
		ctx = mark(ctx)
	}
	return ctx
}

// onlyReads reports whether calls of a method write nothing: it is marked
// readsplit.ReadOnly, or its definition has the option idempotency_level =
// NO_SIDE_EFFECTS.
func (s *Sessions) onlyReads(method string) bool {
	if readonlyguard.IsReadOnly(s.marked(context.Background(), method)) {
		return true
	}
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", "."))
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return false
	}
	o, ok := d.Options().(*descriptorpb.MethodOptions)
	return ok && o.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
}

// isMethod reports whether name is "/package.Service/Method" or "/package.Service/".
func isMethod(name string) bool {
	service, method, found := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	return strings.HasPrefix(name, "/") && found && service != "" && !strings.Contains(method, "/")
}

func sorted(m map[string]Mark) []string { return slices.Sorted(maps.Keys(m)) }
