//go:build !linux

package testenv

// memoryDir is a folder in memory: only Linux has one that is always there.
func memoryDir(bool) string { return "" }
