# The everyday commands; the work is done by the scripts in .ci/.
.DEFAULT_GOAL := help
.PHONY: help run test build lint format asan tsan fuzz image gate

help: ## lists these commands
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

run: ## sets up, builds a release and serves on 127.0.0.1:7070; prints a token and how to try it
	@.ci/setup && .ci/build skiffd skiff && exec build/release/skiffd --print-token

test: ## sets up and runs all tests of the development build
	@.ci/test dev

build: ## builds the release binaries into build/release
	@.ci/setup && .ci/build

lint: ## formatting, clang-tidy and the rules of the tree
	@.ci/lint

format: ## formats the sources
	@.ci/lint --fix-format

asan: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@.ci/test asan

tsan: ## the tests under ThreadSanitizer
	@.ci/test tsan

fuzz: ## every fuzz target for some seconds
	@.ci/test fuzz

image: ## builds a release and tests it in the image
	@.ci/test release

gate: ## everything that must pass before a change is merged
	@.ci/run
