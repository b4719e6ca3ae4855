#!/bin/sh
# Trains small models in the form of Hugging Face's: `make tiny`. It exists so that whoever has no model at hand can try the
# programs on one; on two cores each takes a few seconds. (Folders new-* have the random weights that training begins with.)
#
# usage: tiny.sh <folder of programs> <folder of models>, which is made anew
set -e
apps=$1 tiny=$2
log_book=apps/programs/generate/log_book.txt requests=apps/programs/classify/requests.txt
rm -rf "$tiny"
mkdir -p "$tiny"
for family in gpt2 llama; do
    "$apps/generate" new "$tiny/new-$family" $log_book --family $family --vocabulary 600 --layers 3 --d-model 96 --context 64
    "$apps/generate" train "$tiny/new-$family" $log_book --save "$tiny/$family" --steps 400 --batch 8 --lr 0.003 \
        --validate-every 100
done
"$apps/fill" new "$tiny/new-bert" $log_book $requests --vocabulary 1500 --layers 1 --d-model 96 --context 64
"$apps/fill" train "$tiny/new-bert" $log_book --save "$tiny/bert" --steps 1000 --batch 32 --lr 0.003 --validate-every 250
"$apps/classify" train $requests --from "$tiny/bert" --save "$tiny/classifier" --epochs 15 --lr 0.001
