//! The instructions of a template or an expression, with a charge for each operation.
//!
//! The engine charges one unit of fuel for each instruction. Therefore every instruction whose cost
//! depends on its operands is replaced here by a call of a function in `operations`, which charges
//! by the size of the operands. The other instructions cost about the same for every operand.

use std::{collections::BTreeMap, sync::Arc};

use minijinja::{
    AutoEscape, Environment, Error, UndefinedBehavior, Value,
    machinery::{CodeGenerator, Instruction, Instructions, eval, make_string_output},
};

use super::{
    FUEL, NAME, RECURSION_MAX, TemplateError, check, filters, operations,
    output::{self, RawText, Root},
};

/// Compiled from its source for each rendering, because it borrows from the source.
pub(crate) struct Program<'s>(Instructions<'s>);

impl<'s> Program<'s> {
    pub(crate) fn of_template(source: &'s str) -> Result<Self, TemplateError> {
        let root = check::template(source)?;
        let mut generator = CodeGenerator::new(NAME, source);
        generator.compile_stmt(&root);
        Self::charged(generator)
    }

    pub(crate) fn of_expression(source: &'s str) -> Result<Self, TemplateError> {
        let root = check::expression(source)?;
        let mut generator = CodeGenerator::new(NAME, source);
        generator.compile_expr(&root);
        Self::charged(generator)
    }

    /// Runs the program. Returns the value of an expression; the body of a template is added to
    /// `body`. The whole run must be on the current thread, because its time is counted.
    pub(crate) fn run(
        &self,
        environment: &Environment<'_>,
        root: Arc<Root>,
        body: &mut String,
    ) -> Result<Option<Value>, Error> {
        let root = Value::from_dyn_object(root);
        let mut out = make_string_output(body);
        let blocks = BTreeMap::new();
        let no_escape = AutoEscape::None;
        let ended = eval(environment, &self.0, root, &blocks, &mut out, no_escape);
        ended.map(|(value, _)| value)
    }

    fn charged(generator: CodeGenerator<'s>) -> Result<Self, TemplateError> {
        let (plain, _) = generator.finish();
        let mut charged = Instructions::new(plain.name(), plain.source());
        // The new position of each instruction, and of the end.
        let mut positions = Vec::new();
        let mut length = 0;
        while let Some(instruction) = plain.get(u32_of(positions.len())) {
            let line = plain.get_line(u32_of(positions.len())).unwrap_or(0);
            positions.push(length);
            for instruction in charge(instruction)? {
                length = charged.add_with_line(instruction, u16::try_from(line).unwrap_or(0)) + 1;
            }
        }
        positions.push(length);
        for index in 0..length {
            if let Some(target) = charged.get_mut(index).and_then(jump_target) {
                let moved = usize::try_from(*target).ok();
                *target = *moved
                    .and_then(|target| positions.get(target))
                    .expect("a jump leads to an instruction or to the end");
            }
        }
        Ok(Self(charged))
    }
}

/// The engine numbers instructions with 32 bits, and a source has at most 16 KiB.
fn u32_of(index: usize) -> u32 {
    u32::try_from(index).expect("a program has few instructions")
}

/// The settings of every program.
pub(crate) fn environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_debug(false);
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(RECURSION_MAX);
    environment.set_formatter(output::write_value);
    filters::add_to(&mut environment);
    operations::add_to(&mut environment);
    environment
}

/// The instructions that run in place of an instruction. Refuses instructions that the checked part
/// of the language does not need.
fn charge<'s>(instruction: &Instruction<'s>) -> Result<Vec<Instruction<'s>>, TemplateError> {
    let operation = |name, operands| vec![call(name, operands)];
    Ok(match instruction {
        Instruction::Eq => operation("==", 2),
        Instruction::Ne => operation("!=", 2),
        Instruction::Lt => operation("<", 2),
        Instruction::Lte => operation("<=", 2),
        Instruction::Gt => operation(">", 2),
        Instruction::Gte => operation(">=", 2),
        Instruction::In => operation("in", 2),
        Instruction::GetItem => operation("[]", 2),
        Instruction::Slice => operation("[:]", 4),
        // In a chain such as `a < b < c`: charges for both operands and leaves them on the stack.
        Instruction::CompareAndPreserve(_) => vec![
            Instruction::BuildTuple(Some(2)),
            call("weigh", 1),
            Instruction::UnpackList(2),
            Instruction::Swap,
            instruction.clone(),
        ],
        // The formatter counts the bytes of the body.
        Instruction::EmitRaw(text) => vec![
            Instruction::LoadConst(Value::from_object(RawText((*text).to_owned()))),
            Instruction::Emit,
        ],
        Instruction::StoreLocal(_)
        | Instruction::Lookup(_)
        | Instruction::GetAttr(_)
        | Instruction::LoadConst(_)
        | Instruction::BuildMap(_)
        | Instruction::BuildList(_)
        | Instruction::BuildTuple(_)
        | Instruction::UnpackList(_)
        // Only the counter of a loop with a condition: `check` refuses the operator.
        | Instruction::Add
        | Instruction::Neg
        | Instruction::Not
        | Instruction::ApplyFilter(..)
        | Instruction::PerformTest(..)
        | Instruction::Emit
        | Instruction::PushLoop(_)
        | Instruction::Iterate(_)
        | Instruction::PushDidNotIterate
        | Instruction::PopLoopFrame
        | Instruction::Jump(_)
        | Instruction::JumpIfFalse(_)
        | Instruction::JumpIfFalseOrPop(_)
        | Instruction::JumpIfTrueOrPop(_)
        | Instruction::DupTop
        | Instruction::DiscardTop
        | Instruction::Swap => vec![instruction.clone()],
        _ => {
            return Err(TemplateError::Refused {
                line: 1,
                column: 1,
                why: "an operation is not available".to_owned(),
            });
        }
    })
}

/// Calls a function of `operations`. The number of the local filter is left out, so the function is
/// found by its name.
fn call<'s>(name: &'static str, operands: u16) -> Instruction<'s> {
    Instruction::ApplyFilter(name, Some(operands), !0)
}

fn jump_target<'a>(instruction: &'a mut Instruction<'_>) -> Option<&'a mut u32> {
    match instruction {
        Instruction::Jump(target)
        | Instruction::JumpIfFalse(target)
        | Instruction::JumpIfFalseOrPop(target)
        | Instruction::JumpIfTrueOrPop(target)
        | Instruction::Iterate(target) => Some(target),
        _ => None,
    }
}
