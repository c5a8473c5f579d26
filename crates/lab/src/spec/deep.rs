//! Specifications of deep agents, which exist whether deep learning is built in or not.

use afterstate::game::Shape;

use crate::LabError;
use crate::games::{self, rules};
use crate::metadata::Fields;
use crate::metadata::{ILLEGAL, OUTPUTS, from_word, word};
use crate::recipe::{
    Illegal, MOST_FILTERS, MOST_LAYERS, Recipe, Relu, Rewards, SCALES, ValueOf, WIDEST, kernel_of,
    parse_board,
};

/// A key that only models of deep networks have.
pub(crate) const CONVOLUTIONS: &str = "convolutions";

/// The discount gamma.
pub(crate) const DISCOUNT: &str = "discount";

/// A discount in metadata.
pub(crate) fn discount(text: &str) -> Option<f64> {
    let discount = text.parse().ok();
    discount.filter(|gamma| (0.0..=1.0).contains(gamma))
}

/// Enough to create a deep network and to interpret its outputs, and everything that a model file
/// must store.
#[derive(Clone, Debug, PartialEq)]
pub struct DeepSpec {
    /// The game, by one of the names of [`games::games`].
    pub game: String,
    /// The board.
    pub shape: Shape,
    /// Which positions have values: afterstates or actions.
    pub value: ValueOf,
    /// The kernels of the convolutions, rows and columns of each.
    pub convolutions: Vec<(usize, usize)>,
    /// The filters of each.
    pub filters: usize,
    /// The widths of the linear layers between them and the outputs.
    pub hidden: Vec<usize>,
    /// Which layers a ReLU follows.
    pub relu: Relu,
    /// The outputs.
    pub outputs: usize,
    /// The points that an output of 1 stands for.
    pub scale: f64,
    /// Whether Q of a slide includes its reward.
    pub rewards: Rewards,
    /// Which slide to make when the best one is illegal.
    pub illegal: Illegal,
    /// The discount gamma.
    pub discount: f64,
}

impl DeepSpec {
    /// The agent that a recipe trains.
    ///
    /// # Errors
    /// When the game is unknown or the board is invalid.
    pub fn of(recipe: &Recipe) -> Result<Self, LabError> {
        let (rows, cols) = parse_board(&recipe.board)?;
        let network = recipe.network.expect_deep()?;
        let dqn = recipe.learner.expect_dqn()?;
        let action = dqn.action();
        rules(&recipe.game)?;
        let kernels = network.convolutions.iter().map(|kernel| kernel_of(kernel));
        Ok(Self {
            game: recipe.game.clone(),
            shape: games::shape(rows, cols)?,
            value: recipe.learner.value(),
            convolutions: kernels.collect::<Result<_, _>>()?,
            filters: network.filters,
            hidden: network.hidden.clone(),
            relu: network.relu,
            outputs: network.outputs,
            scale: dqn.reward_scale,
            rewards: action.rewards,
            illegal: action.illegal,
            discount: recipe.learner.discount(),
        })
    }

    /// Its metadata in a model.
    pub(crate) fn metadata(&self) -> Vec<(&'static str, String)> {
        let kernels = self.convolutions.iter();
        let kernels: Vec<String> = kernels.map(|(r, c)| format!("{r}x{c}")).collect();
        let hidden: Vec<String> = self.hidden.iter().map(usize::to_string).collect();
        vec![
            ("game", self.game.clone()),
            ("board", self.shape.to_string()),
            ("value", word(&self.value)),
            (CONVOLUTIONS, kernels.join(" ")),
            ("filters", self.filters.to_string()),
            ("hidden", hidden.join(" ")),
            ("relu", word(&self.relu)),
            (OUTPUTS, self.outputs.to_string()),
            ("reward_scale", self.scale.to_string()),
            ("rewards", word(&self.rewards)),
            (ILLEGAL, word(&self.illegal)),
            (DISCOUNT, self.discount.to_string()),
        ]
    }

    /// The specification in a model's metadata.
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, LabError> {
        let game = fields.get("game", "the name of a game", |text| Some(text.to_owned()))?;
        rules(&game)?;
        let (rows, cols) =
            fields.get("board", "a size such as 4x4", |text| parse_board(text).ok())?;
        let few = |limit: usize| move |number: &usize| (1..=limit).contains(number);
        let parse = |text: &str, limit| text.parse().ok().filter(few(limit));
        let few_kernels = |kernels: &Vec<_>| kernels.len() <= MOST_LAYERS;
        let few_widths = |widths: &Vec<_>| widths.len() <= MOST_LAYERS;
        let value = fields.get("value", "action or afterstate", |text| {
            from_word::<ValueOf>(text).filter(|value| *value != ValueOf::State)
        })?;
        let outputs = match value {
            ValueOf::Action => "3 or 4",
            ValueOf::Afterstate | ValueOf::State => "1",
        };
        Ok(Self {
            game,
            shape: games::shape(rows, cols)?,
            value,
            convolutions: fields.get(CONVOLUTIONS, "up to 16 kernels such as 2x1", |text| {
                let kernels = text.split_whitespace().map(|kernel| kernel_of(kernel).ok());
                kernels.collect::<Option<_>>().filter(few_kernels)
            })?,
            filters: fields.get("filters", "1 to 1024", |text| parse(text, MOST_FILTERS))?,
            hidden: fields.get("hidden", "up to 16 widths of 1 to 4096", |text| {
                let widths = text.split_whitespace().map(|width| parse(width, WIDEST));
                widths.collect::<Option<_>>().filter(few_widths)
            })?,
            relu: fields.get("relu", "all or convolutions", from_word::<Relu>)?,
            outputs: fields.get(OUTPUTS, outputs, |text| {
                let fits = |number: &usize| match value {
                    ValueOf::Action => (3..=4).contains(number),
                    ValueOf::Afterstate | ValueOf::State => *number == 1,
                };
                text.parse().ok().filter(fits)
            })?,
            scale: fields.get("reward_scale", "a number from 0.001 to 1e9", |text| {
                text.parse().ok().filter(|scale| SCALES.contains(scale))
            })?,
            rewards: fields.get("rewards", "learned or known", from_word::<Rewards>)?,
            illegal: fields.get(ILLEGAL, "value, number or output", from_word::<Illegal>)?,
            discount: match fields.has(DISCOUNT) {
                true => fields.get(DISCOUNT, "a number from 0 to 1", discount)?,
                // Earlier versions wrote it only into the recipe.
                false => fields
                    .recipe()
                    .map_or(1.0, |recipe| recipe.learner.discount()),
            },
        })
    }
}
